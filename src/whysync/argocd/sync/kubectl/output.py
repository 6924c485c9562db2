"""Cleans kubectl's output as Argo CD does before it is shown.

Mirrors gitops-engine `cleanKubectlOutput` and `handleLogOutput`, Argo CD 3.6.
"""

from __future__ import annotations

import re
from typing import Final

from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

_SOURCE: Final = re.compile(r'\A(error: )?(error validating|error when creating) "\S+": ')
_PATCH: Final = re.compile(r'\Aerror when applying patch:.*\nfor: "\S+": ', re.DOTALL)
_MAP: Final = re.compile(r"map\[.*\]")
_HINT: Final = "; if you choose to ignore these errors, turn validation off with --validate=false"


def cleaned(error: str) -> str:
    """An error without the names of files and the contents of objects, as far as upstream finds them.

    What surprises: `error when patching`, `replacing` and `deleting` stay, with the name of a file that is
    long gone.
    """
    error = _SOURCE.sub("", error.strip())
    error = _MAP.sub("", error)
    error = _PATCH.sub("", error)
    return error.replace(_HINT, "")


def joined_output(out: str, err: str = "") -> str:
    """kubectl's output followed by its warnings, as Argo CD joins them."""
    return ". ".join(part for part in (out.strip(), err.strip()) if part)


def when(doing: str, file: str, error: str) -> str:
    """Mirrors kubectl `AddSourceToErr`."""
    return f'error when {doing} "{file}": {error}'


_LATER: Final = "This is non-fatal and will be retried next time you apply. Error:"


def no_last_applied(target: Target, live: Object) -> str:
    """Of a live object that nobody applied so before. Argo CD leaves out kubectl's name: mind the gaps."""
    if isinstance(dig(live, "metadata", "annotations", LAST_APPLIED), str):
        return ""
    return (
        f"Warning: resource {target.kind.plural}/{target.ref.name} is missing the {LAST_APPLIED} annotation "
        "which is required by  apply.  apply should only be used on resources created declaratively by "
        "either  create --save-config or  apply. The missing annotation will be patched automatically.\n"
    )


def being_deleted(obj: Object) -> str:
    if not dig(obj, "metadata", "deletionTimestamp"):
        return ""
    name = text(dig(obj, "metadata", "name"))
    return f"Warning: Detected changes to resource {name} which is currently being deleted.\n"


def not_migrated(error: str) -> str:
    return f"Warning: server rejected managed fields migration to Server-Side Apply. {_LATER} {error}\n"


def not_applied_again(error: str) -> str:
    what = "failed to re-apply configuration after performing Server-Side Apply migration."
    return f"Warning: {what} {_LATER} {error}\n"

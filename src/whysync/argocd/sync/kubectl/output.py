"""kubectl's output, as Argo CD cleans it up before showing it.

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


def clean_kubectl_output(error: str) -> str:
    """An error without file names and contents of objects, as far as upstream removes them.

    `error when patching`, `replacing` and `deleting` stay, with the name of a temporary file.
    """
    error = _SOURCE.sub("", error.strip())
    error = _MAP.sub("", error)
    error = _PATCH.sub("", error)
    return error.replace(_HINT, "")


def join_kubectl_output(out: str, err: str = "") -> str:
    """kubectl's output followed by its warnings, as Argo CD joins them."""
    return ". ".join(stream for stream in (out.strip(), err.strip()) if stream)


def add_source_to_err(action: str, file: str, error: str) -> str:
    """Mirrors kubectl `AddSourceToErr`."""
    return f'error when {action} "{file}": {error}'


_LATER: Final = "This is non-fatal and will be retried next time you apply. Error:"


def no_last_applied(target: Target, live: Object) -> str:
    """The warning for a live object without last-applied annotation; Argo CD's text has no command name."""
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
    problem = "failed to re-apply configuration after performing Server-Side Apply migration."
    return f"Warning: {problem} {_LATER} {error}\n"

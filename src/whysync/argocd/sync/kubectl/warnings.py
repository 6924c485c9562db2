"""What kubectl warns of while it applies. Mirrors `apply.go`, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

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

"""iam-manager: roles in AWS."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    Check,
    by,
    healthy,
    message,
    progressing,
    verdict,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_WHICH = message(
    "for role '{.status.roleName|<none>}' with ARN '{.status.roleARN|<none>}' "
    "and ID '{.status.roleID|<none>}'."
)


def _failed(obj: Object, it: Json = None, /) -> HealthVerdict:
    status = lua.at(obj, "status")
    retries, error = lua.at(status, "retryCount"), lua.at(status, "errorDescription")
    said = "Failed to reconcile the Iamrole "
    if retries is not None and lua.less(0, retries):
        said = lua.concat(said, "(retry ", retries, ") ")
    said = lua.concat(said, _WHICH(obj, it))
    if error is not None:
        said = lua.concat(said, " Reconciliation error was: ", error)
    return verdict(DEGRADED, said)


GROUP = "iammanager.keikoproj.io"
CHECKS: dict[str, Check] = {
    "Iamrole": by(
        ".status?.state",
        {
            "Ready": healthy(
                "Role '{.status.roleName|<none>}' exists with ARN '{.status.roleARN|<none>}' "
                "and ID '{.status.roleID|<none>}'."
            ),
            "Error": _failed,
            "RolesMaxLimitReached": _failed,
            "PolicyNotAllowed": _failed,
            "RoleNameNotAvailable": _failed,
        },
        progressing("Waiting for Iamrole to be reconciled"),
    ),
}

"""NetApp Trident."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    by,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    when,
)

_HEALTHY = healthy("{.status.message}")
_DEGRADED = degraded("{.status.message}")

GROUP = "trident.netapp.io"
CHECKS: dict[str, Check] = {
    "TridentBackendConfig": in_order(
        when(is_(".status?.phase", "Bound"), is_(".status.lastOperationStatus", "Success"), then=_HEALTHY),
        when(is_(".status?.lastOperationStatus", "Failed"), then=_DEGRADED),
        progressing("Waiting for backend creation"),
    ),
    "TridentOrchestrator": by(
        ".status?.status",
        {"Installed": _HEALTHY, "Failed": _DEGRADED, "Error": _DEGRADED},
        progressing("Waiting for trident installation"),
    ),
}

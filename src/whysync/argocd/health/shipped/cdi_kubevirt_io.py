"""KubeVirt's Containerized Data Importer."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    conditions,
    degraded,
    healthy,
    in_order,
    present,
    progressing,
    says,
    suspended,
    when,
)

GROUP: Final = "cdi.kubevirt.io"

_PHASE: Final = "{.status.phase}"

CHECKS: Final[dict[str, Check]] = {
    "DataVolume": in_order(
        when(absent(".status"), then=progressing("No status available")),
        by(".status.phase", {"Succeeded": healthy(_PHASE), "Paused": suspended(_PHASE)}),
        conditions(says("Running", "False", degraded("{message}"), reason="Error")),
        by(".status.phase", {"Failed": degraded(_PHASE), "Unknown": degraded(_PHASE)}),
        when(present(".status.phase"), then=progressing(_PHASE)),
        progressing("No status available"),
    )
}

"""Google Config Connector: all kinds of all groups under `cnrm.cloud.google.com`."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    any_of,
    by,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    present,
    progressing,
    same,
    suspended,
    when,
)

GROUP: Final = "*.cnrm.cloud.google.com"

_OBSERVED: Final = any_of(
    absent(".status.observedGeneration"), same(".status.observedGeneration", ".metadata.generation")
)

CHECKS: Final[dict[str, Check]] = {
    "*": in_order(
        when(absent(".status"), then=progressing("Update in progress")),
        when(
            is_(".kind", "ConfigConnector", "ConfigConnectorContext"),
            present(".status.healthy"),
            _OBSERVED,
            then=in_order(
                when(is_(".status.healthy", True), then=healthy("{.kind} is healthy")),
                degraded("{.kind} is not healthy"),
            ),
        ),
        when(
            present(".status.conditions"),
            _OBSERVED,
            then=conditions(
                when(is_("reason", "UpToDate"), is_("status", "True"), then=healthy("{message}")),
                by(
                    "reason",
                    {
                        "UpdateFailed": degraded("{message}"),
                        "DependencyNotFound": degraded("{message}"),
                        "DependencyNotReady": suspended("{message}"),
                    },
                ),
            ),
        ),
        progressing("Update in progress"),
    )
}

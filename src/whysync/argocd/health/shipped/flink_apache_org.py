"""Apache Flink's operator."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    any_of,
    by,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    true,
    when,
)

GROUP: Final = "flink.apache.org"

CHECKS: Final[dict[str, Check]] = {
    "FlinkDeployment": in_order(
        when(absent(".status?.reconciliationStatus"), then=progressing("Waiting for Flink operator")),
        when(
            any_of(
                true(".status.reconciliationStatus.success"),
                is_(".status.reconciliationStatus.state", "DEPLOYED"),
            ),
            then=healthy(),
        ),
        by(
            ".status.jobManagerDeploymentStatus",
            {
                "DEPLOYED_NOT_READY": progressing("Waiting for deploying"),
                "DEPLOYING": progressing("Waiting for deploying"),
                "ERROR": degraded("{.status.reconciliationStatus.error}"),
            },
            other=progressing("Waiting for Flink operator"),
        ),
    )
}

"""Altinity's ClickHouse operator."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    progressing,
    when,
)

GROUP: Final = "clickhouse.altinity.com"


def installation(name: str) -> Step:
    return in_order(
        when(absent(".status?.status"), then=progressing(f"{name} status not yet available")),
        by(
            ".status.status",
            {
                "Completed": healthy(f"{name} installation completed successfully"),
                "InProgress": progressing(f"{name} installation in progress"),
            },
            other=degraded(f"{name} status: {{.status.status}}"),
        ),
    )


CHECKS: Final[dict[str, Check]] = {"ClickHouseInstallation": installation("ClickHouse")}

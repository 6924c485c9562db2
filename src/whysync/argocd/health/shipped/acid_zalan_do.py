"""Zalando's Postgres operator."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    progressing,
    when,
)

GROUP: Final = "acid.zalan.do"

_STATE: Final = "{.status.PostgresClusterStatus}"

CHECKS: Final[dict[str, Check]] = {
    "postgresql": in_order(
        when(
            absent(".status?.PostgresClusterStatus"),
            then=progressing("Waiting for postgres cluster status..."),
        ),
        by(
            ".status.PostgresClusterStatus",
            {
                "Running": healthy(_STATE),
                "Creating": progressing(_STATE),
                "Updating": progressing(_STATE),
            },
            other=degraded(_STATE),
        ),
    )
}

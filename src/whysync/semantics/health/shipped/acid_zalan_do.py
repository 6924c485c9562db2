"""Zalando's Postgres operator."""

from __future__ import annotations

from typing import Final

from whysync.semantics.health.shipped.vocabulary import (
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

_STATE: Final = ".status.PostgresClusterStatus"

CHECKS: Final[dict[str, Check]] = {
    "postgresql": in_order(
        when(
            absent(".status?.PostgresClusterStatus"),
            then=progressing("Waiting for postgres cluster status..."),
        ),
        by(
            _STATE,
            {
                "Running": healthy(f"{{{_STATE}}}"),
                "Creating": progressing(f"{{{_STATE}}}"),
                "Updating": progressing(f"{{{_STATE}}}"),
            },
            other=degraded(f"{{{_STATE}}}"),
        ),
    )
}

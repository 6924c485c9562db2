"""Percona: MongoDB."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    progressing,
    suspended,
    unknown,
    when,
)

_NODES = "{.status.ready}/{.status.size} node(s) are ready"

GROUP = "psmdb.percona.com"
CHECKS: dict[str, Check] = {
    "PerconaServerMongoDB": in_order(
        when(absent(".status"), then=unknown("Cluster status is unknown")),
        by(
            ".status.state",
            {
                "initializing": progressing(_NODES),
                "ready": healthy(_NODES),
                "error": degraded(_NODES),
                "stopping": progressing(_NODES),
                "paused": suspended(_NODES),
            },
            unknown(_NODES),
        ),
    ),
}

"""Cluster API: add-ons."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    says,
)

GROUP: Final = "addons.cluster.x-k8s.io"

CHECKS: Final[dict[str, Check]] = {
    "ClusterResourceSet": in_order(
        conditions(
            says("ResourcesApplied", "True", healthy("cluster resource set is applied")),
            says("ResourcesApplied", "False", degraded("{message}")),
        ),
        progressing("Initializing cluster resource set"),
    )
}

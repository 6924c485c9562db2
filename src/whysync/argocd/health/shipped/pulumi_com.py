"""Pulumi: stacks."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    any_of,
    conditions,
    degraded,
    healthy,
    in_order,
    none_of,
    progressing,
    same,
    says,
    when,
)

GROUP = "pulumi.com"
CHECKS: dict[str, Check] = {
    "Stack": in_order(
        when(
            any_of(absent(".status"), none_of(same(".status.observedGeneration", ".metadata.generation"))),
            then=progressing("Waiting for the operator to observe the latest spec change"),
        ),
        conditions(
            says("Stalled", "True", degraded("{message}")),
            says("Reconciling", "True", progressing("{message}")),
            says("Ready", "True", healthy("{message}")),
        ),
        progressing("Waiting for the stack to be reconciled"),
    ),
}

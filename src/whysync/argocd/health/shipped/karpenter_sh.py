"""Karpenter: node pools and the nodes claimed from them."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    none_of,
    present,
    progressing,
    same,
    says,
    suspended,
    when,
)

_READY = conditions(
    says("Ready", "True", healthy("{message}")),
    says("Ready", "False", degraded("{message}")),
)

GROUP = "karpenter.sh"
CHECKS: dict[str, Check] = {
    "NodeClaim": in_order(
        when(
            present(".metadata.generation"),
            present(".status?.observedGeneration"),
            none_of(same(".metadata.generation", ".status.observedGeneration")),
            then=progressing("Waiting for NodeClaim spec to be reconciled"),
        ),
        conditions(says("Disrupting", "True", suspended("{message}"))),
        _READY,
        conditions(says("Initialized", "True", progressing("Node initialized, waiting for Ready"))),
        conditions(says("Registered", "True", progressing("Node registered, waiting for initialization"))),
        conditions(says("Launched", "True", progressing("Node launched, waiting for registration"))),
        progressing("Waiting for NodeClaim to be launched"),
    ),
    "NodePool": in_order(_READY, progressing("Waiting for NodePool to be ready")),
}

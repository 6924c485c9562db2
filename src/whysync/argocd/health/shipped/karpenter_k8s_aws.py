"""Karpenter on AWS: node classes."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    says,
)

GROUP = "karpenter.k8s.aws"
CHECKS: dict[str, Check] = {
    "EC2NodeClass": in_order(
        conditions(
            says("Ready", "False", degraded("{message}")),
            says("Ready", "True", healthy("EC2NodeClass is ready")),
        ),
        progressing("Waiting for EC2NodeClass to be ready"),
    ),
}

"""AWS Controllers for Kubernetes: all kinds of all groups under `services.k8s.aws`."""

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

GROUP: Final = "*.services.k8s.aws"

CHECKS: Final[dict[str, Check]] = {
    "*": in_order(
        conditions(
            says("ACK.Terminal", "True", degraded("{message}")),
            says("Ready", "False", progressing("{message}")),
            says("Ready", "True", healthy()),
        ),
        progressing("Waiting for resource to be ready"),
    )
}

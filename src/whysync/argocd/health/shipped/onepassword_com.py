"""1Password: items."""

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

GROUP = "onepassword.com"
CHECKS: dict[str, Check] = {
    "OnePasswordItem": in_order(
        conditions(
            says("Ready", "True", healthy("{message}")),
            says("Ready", "False", degraded("{message}")),
        ),
        progressing("Waiting for controller to report status"),
    ),
}

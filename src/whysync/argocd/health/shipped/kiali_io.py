"""Kiali."""

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

GROUP = "kiali.io"
CHECKS: dict[str, Check] = {
    "Kiali": in_order(
        conditions(
            says("Successful", "True", healthy("{message}")),
            says("Failure", "True", degraded("{message}")),
            says("Running", None, progressing("{message}"), reason="Running"),
        ),
        progressing("Waiting for Kiali"),
    ),
}

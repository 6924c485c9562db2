"""Kyverno: policies. Only the exact words of a ready policy count."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    healthy,
    in_order,
    is_,
    progressing,
    says,
    when,
)

GROUP = "kyverno.io"
CHECKS: dict[str, Check] = {
    "Policy": in_order(
        conditions(
            when(
                is_("message", "Ready"),
                then=says("Ready", "True", healthy("Policy is ready"), reason="Succeeded"),
            )
        ),
        progressing("Waiting for Policy to be ready"),
    ),
}

"""Datadog: metrics for autoscalers."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    says,
    when,
)

GROUP: Final = "datadoghq.com"

CHECKS: Final[dict[str, Check]] = {
    "DatadogMetric": in_order(
        conditions(
            says(
                "Error",
                "True",
                in_order(
                    when(is_("reason|", ""), then=degraded("{message|DatadogMetric reported an error}")),
                    degraded("{reason}: {message|DatadogMetric reported an error}"),
                ),
            )
        ),
        conditions(says("Valid", "False", degraded("{message|DatadogMetric is not valid}"))),
        healthy("DatadogMetric is healthy"),
    )
}

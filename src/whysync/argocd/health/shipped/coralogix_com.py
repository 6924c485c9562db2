"""Coralogix: alerts and recording rules."""

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

GROUP: Final = "coralogix.com"

_SYNCED: Final = in_order(
    conditions(
        says("RemoteSynced", "True", healthy("Resource is ready")),
        says("RemoteSynced", "False", degraded("{message}")),
    ),
    progressing("Waiting for status to be updated"),
)

CHECKS: Final[dict[str, Check]] = {"Alert": _SYNCED, "RecordingRuleGroupSet": _SYNCED}

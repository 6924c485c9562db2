"""Spot by NetApp: deployments. Without conditions, the check has no answer."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    nothing,
    progressing,
    says,
    suspended,
    when,
)

GROUP = "spot.io"
CHECKS: dict[str, Check] = {
    "SpotDeployment": in_order(
        when(absent(".status?.conditions"), then=nothing),
        conditions(
            says("InvalidSpec", None, degraded("{message}")),
            says("Progressing", None, degraded("{message}"), reason="RolloutAborted"),
            says("Progressing", None, degraded("{message}"), reason="ProgressDeadlineExceeded"),
            says("Paused", "True", suspended("Rollout is paused")),
        ),
        when(is_(".status.phase", "Progressing"), then=progressing("Waiting for rollout to finish steps")),
        healthy(),
    ),
}

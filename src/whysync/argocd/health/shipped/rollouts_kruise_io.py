"""OpenKruise: rollouts. Without a status the check itself fails."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    same,
    suspended,
    when,
)

_STEP = ".status.canaryStatus.currentStepState"
_PHASE = ".status.phase"

GROUP = "rollouts.kruise.io"
CHECKS: dict[str, Check] = {
    "Rollout": in_order(
        when(
            same(".metadata.generation", ".status.observedGeneration"),
            then=in_order(
                when(
                    is_(_STEP, "StepPaused"),
                    is_(_PHASE, "Progressing"),
                    then=suspended("Rollout is Paused need manual intervention"),
                ),
                when(is_(_STEP, "Completed"), is_(_PHASE, "Healthy"), then=healthy("Rollout is Completed")),
                when(
                    is_(_STEP, "StepPaused"),
                    is_(_PHASE, "Terminating", "Disabled"),
                    then=degraded("Rollout is Disabled or Terminating"),
                ),
            ),
        ),
        progressing("Rollout is still progressing"),
    ),
}

"""Numaplane: rollouts of Numaflow. Progress comes first, then failures, then pauses, then health."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    absent,
    all_of,
    any_of,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    none_of,
    present,
    progressing,
    same,
    says,
    unknown,
    when,
)
from whysync.json_tree import Json, Object

_CHILD = "ChildResourcesHealthy"
_UPGRADE = "ProgressiveUpgradeSucceeded"


def _upgrade_failed(obj: Object, _it: Json) -> bool:
    entries = lua.named(obj, "status", "conditions")
    found = False
    for condition in lua.ipairs(entries) if entries is not None else ():
        found |= lua.at(condition, "type") == _UPGRADE and lua.at(condition, "status") == "False"
    return found


_NOT_RECONCILED = when(
    any_of(absent(".status"), none_of(same(".metadata.generation", ".status.observedGeneration"))),
    then=progressing("Not yet reconciled"),
)
_UPDATING = any_of(
    all_of(present(".status.upgradeInProgress"), isnt(".status.upgradeInProgress", "")),
    is_(".status.phase", "Pending"),
)
_UPDATE_IN_PROGRESS = progressing("Update in progress")
_CHILD_PROGRESSING = conditions(says(_CHILD, "False", progressing("Child Progressing"), reason="Progressing"))
_FAILED = when(is_(".status.phase", "Failed"), then=degraded("{.status.message}"))
_CHILD_HEALTHY = conditions(says(_CHILD, "True", healthy("Healthy")))


def _rollout(*, failure: str, paused: str | None = None, unclear: str) -> Check:
    """A failed progressive upgrade is Degraded, although the update is still going on."""
    steps: list[Step] = [
        _NOT_RECONCILED,
        when(_UPDATING, none_of(_upgrade_failed), then=_UPDATE_IN_PROGRESS),
        _CHILD_PROGRESSING,
        _FAILED,
        conditions(
            says(_CHILD, "False", degraded("{message}"), reason=failure),
            says(_UPGRADE, "False", degraded("Progressive upgrade failed")),
        ),
    ]
    if paused is not None:
        steps.append(conditions(says(paused, "True", healthy("{message}"))))
    return in_order(*steps, _CHILD_HEALTHY, unknown(unclear))


GROUP = "numaplane.numaproj.io"
CHECKS: dict[str, Check] = {
    "ISBServiceRollout": _rollout(failure="ISBSvcFailed", unclear="Unknown status"),
    "MonoVertexRollout": _rollout(
        failure="MonoVertexFailed", paused="MonoVertexPausingOrPaused", unclear="Unknown MonoVertex status"
    ),
    # The controller itself is not upgraded progressively.
    "NumaflowControllerRollout": in_order(
        _NOT_RECONCILED,
        when(_UPDATING, then=_UPDATE_IN_PROGRESS),
        _CHILD_PROGRESSING,
        _FAILED,
        conditions(when(isnt("reason", "Progressing"), then=says(_CHILD, "False", degraded("{message}")))),
        _CHILD_HEALTHY,
        unknown("Unknown status"),
    ),
    "PipelineRollout": _rollout(
        failure="PipelineFailed", paused="PipelinePausingOrPaused", unclear="Unknown Pipeline status"
    ),
}

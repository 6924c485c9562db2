"""OpenKruise: workloads, rollouts, games."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    Test,
    degraded,
    each,
    healthy,
    in_order,
    progressing,
    suspended,
    unknown,
    when,
)
from whysync.argocd.health.verdict import HEALTHY, PROGRESSING, SUSPENDED, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# OpenKruise: its own Deployments (CloneSet), StatefulSets, DaemonSets and Jobs.

_ROLLING: Final = ".spec.updateStrategy.rollingUpdate"
_INITIALIZING: Final = progressing("Waiting for initialization")


def _broken_if_not_text(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
    """The time of the last run is parsed but not used: any string is accepted, other types fail."""
    last = lua.at_path(obj, "status", "lastScheduleTime")
    if isinstance(last, bool | dict | list):
        raise lua.LuaError(f"bad argument #1 to match (string expected, got {lua.type_name(last)})")
    return None


def _exceeds_partition(updated: str, replicas: str) -> Test:
    """More replicas are updated than the partition requires: the rest is a manual step."""

    def test(obj: Object, _item: Json) -> bool:
        partition = lua.at_path(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
        required = lua.number(lua.at_path(obj, "status", replicas)) - lua.number(partition)
        return lua.less(required, lua.at_path(obj, "status", updated))

    return test


def _rolled_out(*steps: Step) -> Step:
    return in_order(
        when(".status ~= nil and .metadata.generation == .status.observedGeneration", *steps), _INITIALIZING
    )


CHECKS["apps.kruise.io"] = {
    "AdvancedCronJob": in_order(
        _broken_if_not_text,
        when(
            ".status.lastScheduleTime == nil and .spec.paused == true", suspended("AdvancedCronJob is Paused")
        ),
        when("some(.status.active)", progressing("AdvancedCronJobs has active jobs")),
        when(".status.lastScheduleTime == nil", degraded("AdvancedCronJobs has not run successfully")),
        healthy("AdvancedCronJobs has run successfully"),
    ),
    "BroadcastJob": in_order(
        when(".status == nil", progressing("BroadcastJob is still running")),
        when(
            ".status.desired == .status.succeeded and .status.phase == 'completed'",
            healthy("BroadcastJob is completed successfully"),
        ),
        when(".status.phase == 'failed' and .status.failed ~= 0", degraded("BroadcastJob failed")),
        when(".status.phase == 'paused' and .spec.paused == true", suspended("BroadcastJob is Paused")),
        progressing("BroadcastJob is still running"),
    ),
    "CloneSet": _rolled_out(
        when(
            ".spec.updateStrategy.paused == true or not .status.updatedAvailableReplicas",
            suspended("Cloneset is paused"),
        ),
        when(
            ".spec.updateStrategy.partition ~= 0 and 1 < .metadata.generation",
            when(
                ".status.updatedReplicas >= .status.expectedUpdatedReplicas",
                suspended("Cloneset needs manual intervention"),
            ),
            _INITIALIZING,
        ),
        when(
            ".status.updatedAvailableReplicas == .status.replicas",
            healthy("All Cloneset workloads are ready and updated"),
        ),
        degraded("Some replicas are not ready or available"),
    ),
    "DaemonSet": _rolled_out(
        when(
            f"{_ROLLING}.paused == true or not .status.updatedNumberScheduled",
            suspended("Daemonset is paused"),
        ),
        when(
            f"{_ROLLING}.partition ~= nil and {_ROLLING}.partition ~= 0 and 1 < .metadata.generation",
            when(
                _exceeds_partition("updatedNumberScheduled", "desiredNumberScheduled"),
                suspended("Daemonset needs manual intervention"),
            ),
            _INITIALIZING,
        ),
        when(
            ".status.updatedNumberScheduled == .status.desiredNumberScheduled",
            when(
                ".status.numberAvailable == .status.desiredNumberScheduled",
                healthy("All Daemonset workloads are ready and updated"),
            ),
            when(
                ".status.numberUnavailable == .status.desiredNumberScheduled",
                degraded("Some pods are not ready or available"),
            ),
        ),
    ),
    "StatefulSet": _rolled_out(
        when(
            f"{_ROLLING}.paused == true or not .status.updatedAvailableReplicas",
            suspended("Statefulset is paused"),
        ),
        when(
            f"{_ROLLING}.partition ~= 0 and 1 < .metadata.generation",
            when(
                _exceeds_partition("updatedReplicas", "replicas"),
                suspended("Statefulset needs manual intervention"),
            ),
            _INITIALIZING,
        ),
        when(
            ".status.updatedAvailableReplicas == .status.replicas",
            healthy("All Statefulset workloads are ready and updated"),
        ),
        degraded("Some replicas are not ready or available"),
    ),
}


# OpenKruise: rollouts. Without a status the check itself fails.

_STEP = ".status.canaryStatus.currentStepState"
_PHASE = ".status.phase"

CHECKS["rollouts.kruise.io"] = {
    "Rollout": in_order(
        when(
            ".metadata.generation == .status.observedGeneration",
            when(
                f"{_STEP} == 'StepPaused' and {_PHASE} == 'Progressing'",
                suspended("Rollout is Paused need manual intervention"),
            ),
            when(f"{_STEP} == 'Completed' and {_PHASE} == 'Healthy'", healthy("Rollout is Completed")),
            when(
                f"{_STEP} == 'StepPaused' and {_PHASE} in ('Terminating', 'Disabled')",
                degraded("Rollout is Disabled or Terminating"),
            ),
        ),
        progressing("Rollout is still progressing"),
    )
}


# OpenKruise Game.


def game_server_set(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for GameServerSet initialization")
    status = obj.get("status")
    if not lua.truthy(status):
        return waiting
    if not lua.same(lua.at_path(obj, "metadata", "generation"), lua.at(status, "observedGeneration")):
        return waiting
    rolling = _rolling_update(obj)
    if lua.at(rolling, "paused") is True:
        return HealthVerdict(SUSPENDED, "GameServerSet is paused")
    partition, replicas = _count(rolling, "partition"), _count(status, "replicas")
    if not lua.same(partition, 0):
        required = lua.number(replicas) - lua.number(partition)
        if lua.at_least(_count(status, "updatedReplicas"), required):
            text = lua.concat("Partition=", partition, ", waiting for manual intervention")
            return HealthVerdict(SUSPENDED, text)
    if lua.same(_count(status, "updatedReadyReplicas"), replicas):
        return HealthVerdict(HEALTHY, "All GameServerSet replicas are updated and ready")
    ready = _count(status, "readyReplicas")
    if lua.less(ready, replicas):
        text = lua.concat("ReadyReplicas ", ready, "/", replicas, ", still progressing")
        return HealthVerdict(PROGRESSING, text)
    return waiting


def _rolling_update(obj: Object) -> Json:
    strategy = lua.at_path(obj, "spec", "updateStrategy")
    rolling = lua.at(strategy, "rollingUpdate") if lua.truthy(strategy) else None
    return rolling if lua.truthy(rolling) else {}


def _count(parent: Json, name: str) -> Json:
    count = lua.at(parent, name)
    return count if lua.truthy(count) else 0


CHECKS["game.kruise.io"] = {
    "GameServer": in_order(
        when("not .status", unknown("Waiting for GameServer to be ready")),
        when(
            ".status.currentState ~= .status.desiredState",
            progressing("State change: {.status.currentState|Unknown} → {.status.desiredState|Unknown}"),
        ),
        each(
            ".status.podStatus?.conditions",
            when("type == 'KruisePodReady' and status ~= 'True'", degraded("Pod is not ready: {type}")),
        ),
        when(".status.currentState == 'Ready'", healthy("GameServer is Ready")),
        unknown("Waiting for GameServer to be ready"),
    ),
    "GameServerSet": game_server_set,
}

"""OpenKruise: workloads, rollouts, games."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    Check,
    Step,
    Test,
    absent,
    any_of,
    at_least,
    degraded,
    each,
    healthy,
    in_order,
    is_,
    isnt,
    less,
    none_of,
    present,
    progressing,
    same,
    some,
    suspended,
    true,
    unknown,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# OpenKruise: its own Deployments (CloneSet), StatefulSets, DaemonSets and Jobs.

_ROLLING: Final = ".spec.updateStrategy.rollingUpdate"
_GENERATION_OBSERVED: Final = same(".metadata.generation", ".status.observedGeneration")
_NOT_THE_FIRST_GENERATION: Final = less(1, ".metadata.generation")
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
        when(present(".status"), _GENERATION_OBSERVED, then=in_order(*steps)),
        _INITIALIZING,
    )


CHECKS["apps.kruise.io"] = {
    "AdvancedCronJob": in_order(
        _broken_if_not_text,
        when(
            absent(".status.lastScheduleTime"),
            is_(".spec.paused", True),
            then=suspended("AdvancedCronJob is Paused"),
        ),
        when(some(".status.active"), then=progressing("AdvancedCronJobs has active jobs")),
        when(absent(".status.lastScheduleTime"), then=degraded("AdvancedCronJobs has not run successfully")),
        healthy("AdvancedCronJobs has run successfully"),
    ),
    "BroadcastJob": in_order(
        when(absent(".status"), then=progressing("BroadcastJob is still running")),
        when(
            same(".status.desired", ".status.succeeded"),
            is_(".status.phase", "completed"),
            then=healthy("BroadcastJob is completed successfully"),
        ),
        when(
            is_(".status.phase", "failed"),
            isnt(".status.failed", 0),
            then=degraded("BroadcastJob failed"),
        ),
        when(
            is_(".status.phase", "paused"),
            is_(".spec.paused", True),
            then=suspended("BroadcastJob is Paused"),
        ),
        progressing("BroadcastJob is still running"),
    ),
    "CloneSet": _rolled_out(
        when(
            any_of(
                is_(".spec.updateStrategy.paused", True), none_of(true(".status.updatedAvailableReplicas"))
            ),
            then=suspended("Cloneset is paused"),
        ),
        when(
            isnt(".spec.updateStrategy.partition", 0),
            _NOT_THE_FIRST_GENERATION,
            then=in_order(
                when(
                    at_least(".status.updatedReplicas", ".status.expectedUpdatedReplicas"),
                    then=suspended("Cloneset needs manual intervention"),
                ),
                _INITIALIZING,
            ),
        ),
        when(
            same(".status.updatedAvailableReplicas", ".status.replicas"),
            then=healthy("All Cloneset workloads are ready and updated"),
        ),
        degraded("Some replicas are not ready or available"),
    ),
    "DaemonSet": _rolled_out(
        when(
            any_of(is_(f"{_ROLLING}.paused", True), none_of(true(".status.updatedNumberScheduled"))),
            then=suspended("Daemonset is paused"),
        ),
        when(
            present(f"{_ROLLING}.partition"),
            isnt(f"{_ROLLING}.partition", 0),
            _NOT_THE_FIRST_GENERATION,
            then=in_order(
                when(
                    _exceeds_partition("updatedNumberScheduled", "desiredNumberScheduled"),
                    then=suspended("Daemonset needs manual intervention"),
                ),
                _INITIALIZING,
            ),
        ),
        when(
            same(".status.updatedNumberScheduled", ".status.desiredNumberScheduled"),
            then=in_order(
                when(
                    same(".status.numberAvailable", ".status.desiredNumberScheduled"),
                    then=healthy("All Daemonset workloads are ready and updated"),
                ),
                when(
                    same(".status.numberUnavailable", ".status.desiredNumberScheduled"),
                    then=degraded("Some pods are not ready or available"),
                ),
            ),
        ),
    ),
    "StatefulSet": _rolled_out(
        when(
            any_of(is_(f"{_ROLLING}.paused", True), none_of(true(".status.updatedAvailableReplicas"))),
            then=suspended("Statefulset is paused"),
        ),
        when(
            isnt(f"{_ROLLING}.partition", 0),
            _NOT_THE_FIRST_GENERATION,
            then=in_order(
                when(
                    _exceeds_partition("updatedReplicas", "replicas"),
                    then=suspended("Statefulset needs manual intervention"),
                ),
                _INITIALIZING,
            ),
        ),
        when(
            same(".status.updatedAvailableReplicas", ".status.replicas"),
            then=healthy("All Statefulset workloads are ready and updated"),
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
        when(none_of(true(".status")), then=unknown("Waiting for GameServer to be ready")),
        when(
            none_of(same(".status.currentState", ".status.desiredState")),
            then=progressing("State change: {.status.currentState|Unknown} → {.status.desiredState|Unknown}"),
        ),
        each(
            ".status.podStatus?.conditions",
            when(
                is_("type", "KruisePodReady"),
                isnt("status", "True"),
                then=degraded("Pod is not ready: {type}"),
            ),
        ),
        when(is_(".status.currentState", "Ready"), then=healthy("GameServer is Ready")),
        unknown("Waiting for GameServer to be ready"),
    ),
    "GameServerSet": game_server_set,
}

"""OpenKruise: its own Deployments (CloneSet), StatefulSets, DaemonSets and Jobs."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    Test,
    absent,
    any_of,
    at_least,
    degraded,
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
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "apps.kruise.io"

_ROLLING: Final = ".spec.updateStrategy.rollingUpdate"
_GENERATION_OBSERVED: Final = same(".metadata.generation", ".status.observedGeneration")
_NOT_THE_FIRST_GENERATION: Final = less(1, ".metadata.generation")
_INITIALIZING: Final = progressing("Waiting for initialization")


def _broken_if_not_text(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
    """The time of the last run is parsed but never used: any text will do, other things make it fail."""
    last = lua.named(obj, "status", "lastScheduleTime")
    if isinstance(last, bool | dict | list):
        raise lua.LuaError(f"bad argument #1 to match (string expected, got {lua.type_name(last)})")
    return None


def _more_than_the_partition(updated: str, wanted: str) -> Test:
    """More are updated than the partition asks for: the rest waits for a person."""

    def test(obj: Object, _it: Json) -> bool:
        held_back = lua.named(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
        asked = lua.number(lua.named(obj, "status", wanted)) - lua.number(held_back)
        return lua.less(asked, lua.named(obj, "status", updated))

    return test


def _rolled_out(*steps: Step) -> Step:
    return in_order(
        when(present(".status"), _GENERATION_OBSERVED, then=in_order(*steps)),
        _INITIALIZING,
    )


CHECKS: Final[dict[str, Check]] = {
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
                    _more_than_the_partition("updatedNumberScheduled", "desiredNumberScheduled"),
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
                    _more_than_the_partition("updatedReplicas", "replicas"),
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

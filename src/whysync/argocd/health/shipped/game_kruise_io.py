"""OpenKruise Game."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    Check,
    degraded,
    each,
    healthy,
    in_order,
    is_,
    isnt,
    none_of,
    progressing,
    same,
    true,
    unknown,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "game.kruise.io"


def game_server_set(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for GameServerSet initialization")
    status = obj.get("status")
    if not lua.truthy(status):
        return waiting
    if not lua.same(lua.named(obj, "metadata", "generation"), lua.at(status, "observedGeneration")):
        return waiting
    rolling = _rolling_update(obj)
    if lua.at(rolling, "paused") is True:
        return HealthVerdict(SUSPENDED, "GameServerSet is paused")
    partition, replicas = _count(rolling, "partition"), _count(status, "replicas")
    if not lua.same(partition, 0):
        asked = lua.number(replicas) - lua.number(partition)
        if lua.at_least(_count(status, "updatedReplicas"), asked):
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
    strategy = lua.named(obj, "spec", "updateStrategy")
    rolling = lua.at(strategy, "rollingUpdate") if lua.truthy(strategy) else None
    return rolling if lua.truthy(rolling) else {}


def _count(parent: Json, name: str) -> Json:
    found = lua.at(parent, name)
    return found if lua.truthy(found) else 0


CHECKS: Final[dict[str, Check]] = {
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

"""Rook: Ceph."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check, code_for, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "ceph.rook.io"

_HEALTHS: Final = {"HEALTH_ERR": DEGRADED, "HEALTH_WARN": DEGRADED, "HEALTH_OK": HEALTHY}
_PHASES: Final = {"Ready": HEALTHY, "Failure": DEGRADED}
_STATES: Final = {"Created": HEALTHY, "Connected": HEALTHY, "Error": DEGRADED}


def ceph_cluster(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    if status is None:
        return HealthVerdict(PROGRESSING, "Waiting for status to be reported")
    code, told = PROGRESSING, list[Json]()
    ceph, state, closing = lua.at(status, "ceph"), lua.at(status, "state"), lua.at(status, "message")
    health = lua.maybe(ceph, "health")
    if health is not None:
        code = code_for(health, _HEALTHS)
        told.append(lua.concat("Ceph health is ", health, _details(lua.at(ceph, "details"))))
    if state is not None and code == HEALTHY:
        told.append(lua.concat("Ceph cluster state is ", state))
        code = code_for(state, _STATES)
    if closing is not None and closing != "":
        told.append(closing)
    if len(told) == 1:
        return verdict(code, told[0])
    return HealthVerdict(code, " - ".join(lua.concat(part) for part in told))


def _details(details: Json) -> str:
    """What Ceph complains about, in the order of its codes."""
    if details is None:
        return ""
    entries = [details[code] for code in sorted(details)] if isinstance(details, dict) else lua.pairs(details)
    texts = [lua.at(entry, "message") for entry in entries if entry is not None]
    told = [text for text in texts if text is not None]
    return f" ({lua.join(told, '; ')})" if told else ""


def ceph_object_store(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    code, text = PROGRESSING, "Waiting for status to be reported"
    phase = lua.maybe(status, "phase")
    if phase is not None:
        text = lua.concat("Ceph object store phase is ", phase)
        code = code_for(phase, _PHASES)
    endpoint = lua.maybe(status, "info", "endpoint")
    if endpoint is not None and endpoint != "":
        text = lua.concat(text, " - endpoint: ", endpoint)
    return HealthVerdict(code, text)


CHECKS: Final[dict[str, Check]] = {"CephCluster": ceph_cluster, "CephObjectStore": ceph_object_store}

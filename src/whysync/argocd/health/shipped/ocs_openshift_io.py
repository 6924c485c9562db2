"""OpenShift Data Foundation: the worst True condition decides."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, UNKNOWN, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_WORST_FIRST = {"Degraded": DEGRADED, "Progressing": PROGRESSING, "Available": HEALTHY}


def _storage_cluster(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    true: dict[str, Json] = {}
    for condition in lua.pairs(entries) if entries is not None else ():
        kind = lua.at(condition, "type")
        if isinstance(kind, str) and lua.at(condition, "status") == "True":
            true[kind] = lua.at(condition, "message")
    for kind, code in _WORST_FIRST.items():
        if kind in true:
            return verdict(code, true[kind])
    return HealthVerdict(UNKNOWN, "StorageCluster is in an unknown state.")


GROUP = "ocs.openshift.io"
CHECKS: dict[str, Check] = {"StorageCluster": _storage_cluster}

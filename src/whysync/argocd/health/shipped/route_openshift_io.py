"""OpenShift: routes. Healthy when there are as many Admitted conditions as routers."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object


def _route(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Route is still getting admitted")
    routers = lua.maybe(obj, "status", "ingress")
    if routers is None:
        return waiting
    count = admitted = refused = 0
    for router in lua.pairs(routers):
        count += 1
        for condition in lua.pairs(lua.at(router, "conditions")):
            if lua.at(condition, "type") == "Admitted":
                admitted += lua.at(condition, "status") == "True"
                refused += lua.at(condition, "status") == "False"
    if admitted == count:
        return HealthVerdict(HEALTHY, "Route is healthy")
    return HealthVerdict(DEGRADED, "Route is degraded") if refused else waiting


GROUP = "route.openshift.io"
CHECKS: dict[str, Check] = {"Route": _route}

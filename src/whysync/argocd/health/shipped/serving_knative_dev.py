"""Knative Serving: services."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_WANTED = ("ConfigurationsReady", "RoutesReady", "Ready")


def _service(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for status update.")
    good = bad = 0
    complaints: list[str] = []
    for condition in lua.pairs(entries):
        status = lua.at(condition, "status")
        good += status == "True" and lua.at(condition, "type") in _WANTED
        bad += status == "False"
        if status in ("False", "Unknown"):
            complaints.append(_complaint(condition))
    if good == len(_WANTED) and not complaints:
        return HealthVerdict(HEALTHY, "Knative Service is healthy.")
    return HealthVerdict(DEGRADED if bad else PROGRESSING, "".join(complaints))


def _complaint(condition: Json) -> str:
    reason, message = lua.at(condition, "reason"), lua.at(condition, "message")
    said = lua.concat(lua.at(condition, "type"), " is ", lua.at(condition, "status"))
    if reason is not None and reason != "":
        said = lua.concat(said, ", since ", reason, ".")
    if message is not None and message != "":
        said = lua.concat(said, " ", message)
    return said + "\n"


GROUP = "serving.knative.dev"
CHECKS: dict[str, Check] = {"Service": _service}

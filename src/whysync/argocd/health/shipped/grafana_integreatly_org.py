"""The Grafana operator."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    absent,
    any_of,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    true,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "grafana.integreatly.org"


def _all_conditions(obj: Object) -> HealthVerdict:
    """Told one after the other, up to the first that is False."""
    code, told = PROGRESSING, ""
    entries = lua.maybe(obj, "status", "conditions")
    for condition in () if entries is None else lua.ipairs(entries):
        status = lua.at(condition, "status")
        if status is None:
            continue
        told = (told + ", " if told else "") + _sentence(condition)
        if status == "False":
            return HealthVerdict(DEGRADED, told)
        if status == "True":
            code = HEALTHY
    return HealthVerdict(code, told)


def _sentence(condition: Json) -> str:
    """`reason for type because message`, as far as each is there."""
    words: list[Json] = []
    for joint, name in (("", "reason"), (" for ", "type"), (" because ", "message")):
        value = lua.at(condition, name)
        if value is None:
            break
        words += [joint, value]
    return lua.concat(*words)


CHECKS: Final[dict[str, Check]] = {
    "Grafana": in_order(
        when(absent(".status?.stageStatus"), then=progressing("Waiting for Grafana status info")),
        when(is_(".status.stageStatus", "failed"), then=degraded("Failed at stage {.status.stage}")),
        when(is_(".status.stage", "complete"), is_(".status.stageStatus", "success"), then=healthy()),
        progressing("{.status.stage}"),
    ),
    "GrafanaDashboard": _all_conditions,
    "GrafanaDatasource": in_order(
        when(any_of(absent(".status"), is_(".status.uid", "")), then=progressing()),
        when(true(".status.NoMatchingInstances"), then=degraded("can't find matching grafana instance")),
        healthy(),
    ),
    "GrafanaFolder": _all_conditions,
}

"""Flagger: canaries."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, UNKNOWN, Check, code_for
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object

GROUP: Final = "flagger.app"

_BETWEEN: Final = " --- "
_PHASES: Final = {
    "Failed": DEGRADED,
    "Progressing": PROGRESSING,
    "Finalising": PROGRESSING,
    "Promoting": PROGRESSING,
    "Succeeded": HEALTHY,
    "Initialized": HEALTHY,
}


def canary(obj: Object) -> HealthVerdict:
    """The message is the phase, the weight if there is any, and what all conditions say."""
    status = obj.get("status")
    if status is None:
        return HealthVerdict(UNKNOWN, "No status")
    weight = lua.at(status, "canaryWeight")
    told = ""
    if lua.less(0, lua.to_number(weight)):
        told = lua.concat("Canary Weight: ", weight, " %")
    for condition in lua.ipairs(lua.at(status, "conditions")):
        told = lua.concat(told, _BETWEEN if told else "", lua.at(condition, "message"))
    phase = lua.at(status, "phase")
    return HealthVerdict(code_for(phase, _PHASES, UNKNOWN), lua.concat(phase, _BETWEEN, told))


CHECKS: Final[dict[str, Check]] = {"Canary": canary}

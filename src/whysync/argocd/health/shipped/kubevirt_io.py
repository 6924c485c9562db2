"""KubeVirt: virtual machines."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    UNKNOWN,
    Check,
    verdict,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_NO_STATUS = HealthVerdict(PROGRESSING, "No status available")


def _machine(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return _NO_STATUS
    found = _NO_STATUS
    for condition in _conditions(status):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if kind == "Paused" and true:
            return HealthVerdict(SUSPENDED, "Paused")
        if kind == "Ready":
            if true:
                found = HealthVerdict(HEALTHY, "Running")
            elif lua.truthy(lua.at(status, "created")):
                found = HealthVerdict(found.code, "Starting")
            else:
                found = HealthVerdict(SUSPENDED, "Stopped")
    printed = lua.at(status, "printableStatus")
    return found if printed is None else verdict(found.code, printed)


# What an instance's phase decides on its own; in any other phase the conditions are asked.
_PHASES = {
    "Failed": DEGRADED,
    "Pending": PROGRESSING,
    "Scheduling": PROGRESSING,
    "Scheduled": PROGRESSING,
    "Succeeded": SUSPENDED,
    "Unknown": UNKNOWN,
}


def _instance(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return _NO_STATUS
    phase = lua.at(status, "phase")
    if isinstance(phase, str) and phase in _PHASES:
        return HealthVerdict(_PHASES[phase], phase)
    code, said = PROGRESSING, _NO_STATUS.message if phase is None else phase
    for condition in _conditions(status):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if kind == "Ready":
            code, said = (HEALTHY, "Running") if true else (DEGRADED, lua.at(condition, "message"))
        elif kind == "Paused" and true:
            return verdict(SUSPENDED, lua.at(condition, "message"))
    return verdict(code, said)


def _conditions(status: Json) -> list[Json]:
    entries = lua.at(status, "conditions")
    return [] if entries is None else list(lua.ipairs(entries))


GROUP = "kubevirt.io"
CHECKS: dict[str, Check] = {"VirtualMachine": _machine, "VirtualMachineInstance": _instance}

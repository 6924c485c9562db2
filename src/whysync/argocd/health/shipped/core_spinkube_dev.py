"""SpinKube: WebAssembly applications."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "core.spinkube.dev"


def spin_app(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    if not lua.truthy(status):
        return HealthVerdict(PROGRESSING, "Waiting for status to be available")
    entries = lua.at(status, "conditions")
    available = False
    availability: Json = ""
    progress: Json = None
    for condition in lua.ipairs(entries) if lua.truthy(entries) else ():
        said = lua.at(condition, "message")
        holds = lua.at(condition, "status") == "True"
        match lua.at(condition, "type"):
            case "Progressing":
                if _has_failed(condition):
                    return verdict(DEGRADED, _or(said, "Application deployment has failed"))
                if holds:
                    progress = _or(said, "Application progress status")
            case "Available":
                available = holds
                otherwise = "availability status" if holds else "is not available"
                availability = _or(said, f"Application {otherwise}")
            case _:
                pass
    ready, wanted = _or(lua.at(status, "readyReplicas"), 0), _or(lua.named(obj, "spec", "replicas"), 1)
    if not available:
        return verdict(DEGRADED, availability)
    counted = lua.concat(ready, "/", wanted)
    if lua.less(ready, wanted):
        return HealthVerdict(PROGRESSING, f"Waiting for replicas to be ready ({counted})")
    if progress is not None:
        return verdict(PROGRESSING, progress)
    return HealthVerdict(HEALTHY, f"Application is healthy with {counted} replicas ready")


def _has_failed(condition: Json) -> bool:
    if lua.at(condition, "status") != "False":
        return False
    if lua.at(condition, "reason") == "ProgressDeadlineExceeded":
        return True
    said = lua.at(condition, "message")
    told = lua.concat(said).lower() if lua.truthy(said) else ""
    return "timeout" in told or "failed" in told


def _or(value: Json, default: Json) -> Json:
    return value if lua.truthy(value) else default


CHECKS: Final[dict[str, Check]] = {"SpinApp": spin_app}

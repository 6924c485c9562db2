"""The Prometheus operator."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _prometheus(obj: Object) -> HealthVerdict:
    """The last Available decides."""
    entries = lua.maybe(obj, "status", "conditions")
    available: Json = None
    for condition in lua.ipairs(entries) if entries is not None else ():
        if lua.at(condition, "type") == "Available":
            available = condition
    if available is None:
        return HealthVerdict(PROGRESSING, "Waiting for initialization")
    if lua.at(available, "status") == "True":
        return HealthVerdict(HEALTHY, "All instances are available")
    reason, said = lua.at(available, "reason"), lua.at(available, "message")
    code = PROGRESSING if reason == "SomePodsNotReady" else DEGRADED
    return verdict(code, said if lua.truthy(said) else reason)


GROUP = "monitoring.coreos.com"
CHECKS: dict[str, Check] = {"Prometheus": _prometheus}

"""Crossplane: providers."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _provider(obj: Object) -> HealthVerdict:
    """Installed and Healthy have to be True, and both have to be there for the message."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for provider to be installed")
    status: dict[str, Json] = {}
    reason: dict[str, Json] = {}
    for condition in lua.ipairs(entries):
        kind = lua.at(condition, "type")
        if isinstance(kind, str):
            status[kind] = lua.at(condition, "status")
            reason[kind] = lua.at(condition, "reason")
    good = status.get("Installed") == "True" and status.get("Healthy") == "True"
    said = lua.concat(reason.get("Installed"), " ", reason.get("Healthy"))
    return HealthVerdict(HEALTHY if good else DEGRADED, said)


GROUP = "pkg.crossplane.io"
CHECKS: dict[str, Check] = {"Provider": _provider}

"""Crossplane's stacks of old."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import HEALTHY, PROGRESSING, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _stack_install(obj: Object) -> HealthVerdict:
    """Waits for a Ready that is True; meanwhile the last Ready says why."""
    said: Json = "Waiting for stack to be installed"
    entries = lua.maybe(obj, "status", "conditionedStatus", "conditions")
    for condition in lua.ipairs(entries) if entries is not None else ():
        if lua.at(condition, "type") == "Ready":
            said = lua.at(condition, "reason")
            if lua.at(condition, "status") == "True":
                return verdict(HEALTHY, said)
    return verdict(PROGRESSING, said)


GROUP = "stacks.crossplane.io"
CHECKS: dict[str, Check] = {"ClusterStackInstall": _stack_install}

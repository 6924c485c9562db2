"""Kubernetes: pod disruption budgets."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object


def _pod_disruption_budget(obj: Object) -> HealthVerdict:
    """Too few pods is no failure of the budget: some are made to never allow a disruption."""
    found = HealthVerdict(PROGRESSING, "Waiting for status")
    entries = lua.maybe(obj, "status", "conditions")
    for condition in lua.ipairs(entries) if entries is not None else ():
        reason = lua.at(condition, "reason")
        said = lua.concat("PodDisruptionBudget has ", reason)
        if lua.at(condition, "status") == "False" and reason != "InsufficientPods":
            return HealthVerdict(DEGRADED, said)
        found = HealthVerdict(HEALTHY, said)
    return found


GROUP = "policy"
CHECKS: dict[str, Check] = {"PodDisruptionBudget": _pod_disruption_budget}

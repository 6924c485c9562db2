"""Kubernetes: pod disruption budgets."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import Verdict
from whysync.json_tree import Object


def _pod_disruption_budget(obj: Object) -> Verdict:
    """Too few pods is no failure of the budget: some are made to never allow a disruption."""
    found = Verdict(PROGRESSING, "Waiting for status")
    entries = lua.maybe(obj, "status", "conditions")
    for condition in lua.ipairs(entries) if entries is not None else ():
        reason = lua.at(condition, "reason")
        said = lua.concat("PodDisruptionBudget has ", reason)
        if lua.at(condition, "status") == "False" and reason != "InsufficientPods":
            return Verdict(DEGRADED, said)
        found = Verdict(HEALTHY, said)
    return found


GROUP = "policy"
CHECKS: dict[str, Check] = {"PodDisruptionBudget": _pod_disruption_budget}

"""Knative's operator: Serving and Eventing, healthy when a number of conditions are True."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object


def _installed(kind: str, *, wanted: tuple[str, ...], awaited: tuple[str, ...]) -> Check:
    """All of `wanted` have to be True; a False one of `awaited`, or any Unknown, is taken for progress."""

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, f"Waiting for {kind}")
        good = open_ones = 0
        listed: list[str] = []
        for place, condition in lua.numbered(entries):
            what, status = lua.at(condition, "type"), lua.at(condition, "status")
            listed.append(lua.concat(place, ": ", what, " | ", status, "\n"))
            good += status == "True" and what in wanted
            open_ones += status == "Unknown" or (status == "False" and what in awaited)
        if open_ones == 0 and good == len(wanted):
            return HealthVerdict(HEALTHY, f"{kind} is healthy.")
        return HealthVerdict(PROGRESSING if open_ones else DEGRADED, "".join(listed))

    return check


GROUP = "operator.knative.dev"
CHECKS: dict[str, Check] = {
    "KnativeEventing": _installed(
        "KnativeEventing", wanted=("Ready", "InstallSucceeded"), awaited=("Ready",)
    ),
    "KnativeServing": _installed(
        "KnativeServing",
        wanted=("Ready", "InstallSucceeded", "DependenciesInstalled", "DeploymentsAvailable"),
        awaited=("Ready", "DeploymentsAvailable"),
    ),
}

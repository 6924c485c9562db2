"""Keycloak."""

from __future__ import annotations

from functools import cmp_to_key

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _keycloak(obj: Object) -> HealthVerdict:
    """The oldest of the conditions that decide wins; one without a time counts as the newest.

    Equal times keep their order, as they do in Argo CD for lists of up to twelve.
    """
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for Keycloak status conditions to exist")
    for condition in sorted(lua.ipairs(entries), key=cmp_to_key(_by_age)):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if true and kind == "Ready":
            return HealthVerdict(HEALTHY)
        if true and kind == "HasErrors":
            return HealthVerdict(DEGRADED, lua.concat("Has Errors: ", lua.at(condition, "message")))
    return HealthVerdict(PROGRESSING)


def _by_age(left: Json, right: Json) -> int:
    one, other = lua.at(left, "lastTransitionTime"), lua.at(right, "lastTransitionTime")
    if one is None or other is None:
        return (one is None) - (other is None)
    return lua.less(other, one) - lua.less(one, other)


GROUP = "k8s.keycloak.org"
CHECKS: dict[str, Check] = {"Keycloak": _keycloak}

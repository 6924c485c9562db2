"""Contour. Only a condition about the present generation of the object counts."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    degraded,
    each,
    healthy,
    in_order,
    progressing,
    same,
    says,
    true,
    verdict,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object

_WAITING = "Waiting for status"


def _http_proxy(obj: Object) -> HealthVerdict:
    """Upstream takes a proxy that includes others for healthy even when it is not valid.

    Parent and children wait for each other; without this, none of them would ever be applied.
    """
    status = lua.at(obj, "status")
    if not lua.truthy(status):
        return HealthVerdict(PROGRESSING, _WAITING)
    entries, description = lua.at(status, "conditions"), lua.at(status, "description")
    if not lua.truthy(entries):
        if lua.truthy(lua.at(status, "currentStatus")):
            return verdict(PROGRESSING, description)
        return HealthVerdict(PROGRESSING, _WAITING)
    found = HealthVerdict(PROGRESSING, _WAITING)
    for condition in lua.ipairs(entries):
        generation = lua.named(obj, "metadata", "generation")
        if not lua.same(generation, lua.at(condition, "observedGeneration")):
            continue
        valid, state = lua.at(condition, "type") == "Valid", lua.at(condition, "status")
        if valid and state == "True":
            return verdict(HEALTHY, description)
        if lua.named(obj, "spec", "includes") is not None and state == "False":
            found = HealthVerdict(HEALTHY, "HTTPProxy inclusions cannot be health checked")
        elif valid and state == "False":
            return verdict(DEGRADED, description)
    return found


GROUP = "projectcontour.io"
CHECKS: dict[str, Check] = {
    "ExtensionService": in_order(
        when(
            true(".status"),
            true(".status.conditions"),
            then=each(
                ".status.conditions",
                when(
                    same(".metadata.generation", "observedGeneration"),
                    then=in_order(
                        says("Valid", "True", healthy("{message}")),
                        says("Valid", "False", degraded("{message}")),
                    ),
                ),
            ),
        ),
        progressing(_WAITING),
    ),
    "HTTPProxy": _http_proxy,
}

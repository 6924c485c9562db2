"""Airlock Microgateway: policies are judged by the gateways they hang on, all other kinds are just there."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _any_kind(obj: Object) -> HealthVerdict:
    kind = obj.get("kind")
    fine = lua.concat(kind, " is healthy")
    if not isinstance(kind, str) or not kind.endswith("Policy"):
        return HealthVerdict(HEALTHY, fine)
    found = HealthVerdict(PROGRESSING, f"Waiting for {kind} status")
    ancestors = lua.maybe(obj, "status", "ancestors")
    if ancestors is None:
        return found
    late = _not_up_to_date(kind, ancestors, lua.named(obj, "metadata", "generation"))
    if late is not None:
        return late
    for ancestor in lua.ipairs(ancestors):
        accepted = False
        for condition in lua.ipairs(lua.at(ancestor, "conditions")):
            about = lua.at(condition, "type")
            if about not in ("Accepted", "ResolvedRefs"):
                continue
            if lua.at(condition, "status") != "True":
                said = lua.at(condition, "message")
                return HealthVerdict(DEGRADED, lua.concat("Ancestor ", _name(ancestor), ": ", said))
            if about == "Accepted":
                accepted, found = True, HealthVerdict(HEALTHY, fine)
        if not accepted:  # but a later ancestor that accepts the policy has the last word
            said = lua.concat("Ancestor ", _name(ancestor), ": ", kind, " is not accepted")
            found = HealthVerdict(DEGRADED, said)
    return found


def _not_up_to_date(kind: str, ancestors: Json, generation: Json) -> HealthVerdict | None:
    if generation is None:
        return None
    for ancestor in lua.ipairs(ancestors):
        for condition in lua.ipairs(lua.at(ancestor, "conditions")):
            if not lua.same(lua.at(condition, "observedGeneration"), generation):
                said = lua.concat("Waiting for Ancestor ", _name(ancestor), " to update ", kind, " status")
                return HealthVerdict(PROGRESSING, said)
    return None


def _name(ancestor: Json) -> Json:
    name = lua.named(ancestor, "ancestorRef", "name")
    return name if lua.truthy(name) else ""


GROUP = "microgateway.airlock.com"
CHECKS: dict[str, Check] = {"*": _any_kind}

"""Gateways and meshes: Istio, Contour, Gloo, Airlock Microgateway, Proclaim."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    condition_is,
    degraded,
    each,
    healthy,
    in_order,
    inside,
    progressing,
    suspended,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, UNKNOWN, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Istio's operator. It has written its state as a number and, later, as a name.

_STATE = ".status?.status"

CHECKS["install.istio.io"] = {
    "IstioOperator": in_order(
        when(f"{_STATE} in (0, 'NONE')", unknown("Component is not present.")),
        when(
            f"{_STATE} in (1, 'UPDATING')", progressing("Component is being updated to a different version.")
        ),
        when(
            f"{_STATE} in (2, 'RECONCILING')",
            progressing(
                "Controller has started but not yet completed reconciliation loop for the component."
            ),
        ),
        when(f"{_STATE} in (3, 'HEALTHY')", healthy("Component is healthy.")),
        when(f"{_STATE} in (4, 'ERROR')", degraded("Component is in an error state.")),
        progressing("Waiting for Istio Control Plane"),
    )
}


# Contour. Only a condition about the present generation of the object counts.

_WAITING = "Waiting for status"


def _http_proxy(obj: Object) -> HealthVerdict:
    """Upstream treats a proxy that includes others as healthy even if it is invalid.

    Parent and children depend on each other; otherwise none of them would ever be applied.
    """
    status = lua.at(obj, "status")
    if not lua.truthy(status):
        return HealthVerdict(PROGRESSING, _WAITING)
    entries, description = lua.at(status, "conditions"), lua.at(status, "description")
    if not lua.truthy(entries):
        if lua.truthy(lua.at(status, "currentStatus")):
            return verdict(PROGRESSING, description)
        return HealthVerdict(PROGRESSING, _WAITING)
    result = HealthVerdict(PROGRESSING, _WAITING)
    for condition in lua.ipairs(entries):
        generation = lua.at_path(obj, "metadata", "generation")
        if not lua.same(generation, lua.at(condition, "observedGeneration")):
            continue
        valid, state = lua.at(condition, "type") == "Valid", lua.at(condition, "status")
        if valid and state == "True":
            return verdict(HEALTHY, description)
        if lua.at_path(obj, "spec", "includes") is not None and state == "False":
            result = HealthVerdict(HEALTHY, "HTTPProxy inclusions cannot be health checked")
        elif valid and state == "False":
            return verdict(DEGRADED, description)
    return result


CHECKS["projectcontour.io"] = {
    "ExtensionService": in_order(
        when(
            ".status and .status.conditions",
            each(
                ".status.conditions",
                when(
                    ".metadata.generation == observedGeneration",
                    condition_is("Valid", "True", healthy("{message}")),
                    condition_is("Valid", "False", degraded("{message}")),
                ),
            ),
        ),
        progressing(_WAITING),
    ),
    "HTTPProxy": _http_proxy,
}


# Gloo: gateways and routes.

# Old versions write the state as a number.
_BY_STATE: Final = in_order(
    when("state in ('Accepted', 1)", healthy("The resource has been validated")),
    when("state in ('Warning', 3)", degraded("{reason}")),
    when("state in ('Pending', 0)", suspended("The resource has not yet been validated")),
    when("state in ('Rejected', 2)", degraded("{reason}")),
)

VALIDATED: Final = in_order(
    when(".status ~= nil", each(".status.statuses", _BY_STATE, keyed=True), inside(".status", _BY_STATE)),
    progressing("Update in progress"),
)

CHECKS["gateway.solo.io"] = {
    "Gateway": VALIDATED,
    "MatchableHttpGateway": VALIDATED,
    "RouteOption": VALIDATED,
    "RouteTable": VALIDATED,
    "VirtualHostOption": VALIDATED,
    "VirtualService": VALIDATED,
}


# Gloo: proxies and upstreams.

CHECKS["gloo.solo.io"] = {
    "Proxy": VALIDATED,
    "Settings": VALIDATED,
    "Upstream": VALIDATED,
    "UpstreamGroup": VALIDATED,
}


# Airlock Microgateway: policies are judged by the gateways they hang on, all other kinds are just there.


def _any_kind(obj: Object) -> HealthVerdict:
    kind = obj.get("kind")
    fine = lua.concat(kind, " is healthy")
    if not isinstance(kind, str) or not kind.endswith("Policy"):
        return HealthVerdict(HEALTHY, fine)
    result = HealthVerdict(PROGRESSING, f"Waiting for {kind} status")
    ancestors = lua.maybe(obj, "status", "ancestors")
    if ancestors is None:
        return result
    late = _not_up_to_date(kind, ancestors, lua.at_path(obj, "metadata", "generation"))
    if late is not None:
        return late
    for ancestor in lua.ipairs(ancestors):
        accepted = False
        for condition in lua.ipairs(lua.at(ancestor, "conditions")):
            about = lua.at(condition, "type")
            if about not in ("Accepted", "ResolvedRefs"):
                continue
            if lua.at(condition, "status") != "True":
                message = lua.at(condition, "message")
                return HealthVerdict(DEGRADED, lua.concat("Ancestor ", _name(ancestor), ": ", message))
            if about == "Accepted":
                accepted, result = True, HealthVerdict(HEALTHY, fine)
        if not accepted:  # but a later ancestor that accepts the policy has the last word
            message = lua.concat("Ancestor ", _name(ancestor), ": ", kind, " is not accepted")
            result = HealthVerdict(DEGRADED, message)
    return result


def _not_up_to_date(kind: str, ancestors: Json, generation: Json) -> HealthVerdict | None:
    if generation is None:
        return None
    for ancestor in lua.ipairs(ancestors):
        for condition in lua.ipairs(lua.at(ancestor, "conditions")):
            if not lua.same(lua.at(condition, "observedGeneration"), generation):
                message = lua.concat("Waiting for Ancestor ", _name(ancestor), " to update ", kind, " status")
                return HealthVerdict(PROGRESSING, message)
    return None


def _name(ancestor: Json) -> Json:
    name = lua.at_path(ancestor, "ancestorRef", "name")
    return name if lua.truthy(name) else ""


CHECKS["microgateway.airlock.com"] = {"*": _any_kind}


# Proclaim: services announced by DNS-SD.


def _service_instance(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    last: dict[str, Json] = {"Adopted": {}, "Advertised": {}, "Discoverable": {}}
    for condition in lua.ipairs(entries) if entries is not None else ():
        kind = lua.at(condition, "type")
        if isinstance(kind, str) and kind in last:
            last[kind] = condition
    adopted, advertised, discoverable = last.values()
    message = lua.at(discoverable, "message")
    if lua.at(adopted, "status") == "False":
        return verdict(DEGRADED, lua.at(adopted, "message"))
    if lua.at(advertised, "reason") in ("AdvertiseError", "UnadvertiseError"):
        return verdict(DEGRADED, lua.at(advertised, "message"))
    if lua.at(discoverable, "reason") == "DiscoveryError":
        return verdict(UNKNOWN, message)
    return verdict(HEALTHY if lua.at(discoverable, "status") == "True" else PROGRESSING, message)


CHECKS["proclaim.dogmatiq.io"] = {"DNSSDServiceInstance": _service_instance}

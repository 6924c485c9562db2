"""Kubernetes and its SIGs: CronJobs, CRDs, PodDisruptionBudgets, volume snapshots, the Gateway API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    by,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# CronJobs. (The check of Jobs is written in Go.)

CHECKS["batch"] = {
    "CronJob": in_order(
        when(".spec.suspend == true", healthy("CronJob is Suspended")),
        when(".status == nil", progressing("Waiting for CronJob")),
        when(".status.lastScheduleTime == nil", healthy("CronJob has not been scheduled yet")),
        when(
            ".status.lastSuccessfulTime == nil",
            healthy("The CronJob never completed successfully. It may not be healthy"),
        ),
        when(
            "some(.status.active)",
            healthy("The job is running. Its last execution may not have been successful"),
        ),
        # Times are compared as text, which is right for RFC 3339 in UTC.
        when(
            ".status.lastSuccessfulTime < .status.lastScheduleTime",
            degraded("CronJob has not completed its last execution successfully"),
        ),
        healthy("CronJob has completed its last execution successfully"),
    )
}


# PodDisruptionBudgets.


def _pod_disruption_budget(obj: Object) -> HealthVerdict:
    """Too few Pods are not a failure: some budgets never allow a disruption on purpose."""
    result = HealthVerdict(PROGRESSING, "Waiting for status")
    entries = lua.maybe(obj, "status", "conditions")
    for condition in lua.ipairs(entries) if entries is not None else ():
        reason = lua.at(condition, "reason")
        message = lua.concat("PodDisruptionBudget has ", reason)
        if lua.at(condition, "status") == "False" and reason != "InsufficientPods":
            return HealthVerdict(DEGRADED, message)
        result = HealthVerdict(HEALTHY, message)
    return result


CHECKS["policy"] = {"PodDisruptionBudget": _pod_disruption_budget}


# CustomResourceDefinitions.

CHECKS["apiextensions.k8s.io"] = {
    "CustomResourceDefinition": in_order(
        when(".metadata.deletionTimestamp ~= nil", progressing("CRD is terminating")),
        # A CRD without any status is an error of the script: Unknown.
        when("not some(.status.conditions)", progressing("Status conditions not found")),
        conditions(
            condition_is("Terminating", "True", progressing("CRD is terminating: {message}")),
            condition_is("NamesAccepted", "False", degraded("CRD names have not been accepted: {message}")),
            condition_is("NonStructuralSchema", "True", degraded("Schema violations found: {message}")),
            when(
                "type == 'Established' and status ~= 'True' and reason == 'Installing'",
                progressing("CRD is being installed"),
            ),
        ),
        conditions(condition_is("Established", "True", healthy("CRD is healthy"))),
        degraded("CRD is not established"),
    )
}


# Volume snapshots.

_SNAPSHOT = in_order(
    when(".status?.readyToUse", healthy("Ready to use")),
    when(".status?.error ~= nil", degraded("{.status.error.message}")),
    progressing("Waiting for status"),
)

CHECKS["snapshot.storage.k8s.io"] = {"VolumeSnapshot": _SNAPSHOT, "VolumeSnapshotContent": _SNAPSHOT}


# The Gateway API.


def _problem(entries: Json, subject: str) -> tuple[HealthCode, Json] | None:
    """The worst problem in the conditions of a gateway, a listener or a route's parent."""
    for kind in ("ResolvedRefs", "Accepted"):
        for condition in lua.ipairs(entries):
            if lua.at(condition, "type") == kind and lua.at(condition, "status") == "False":
                return DEGRADED, _message_or(condition, f"Failed condition: {kind}")
    for condition in lua.ipairs(entries):
        if lua.at(condition, "type") == "Programmed" and lua.at(condition, "status") != "True":
            return PROGRESSING, _message_or(condition, f"{subject} is still being programmed")
    return None


def _message_or(condition: Json, default: str) -> Json:
    message = lua.at(condition, "message")
    return message if lua.truthy(message) else default


def gateway(obj: Object) -> HealthVerdict:
    own, listeners = lua.maybe(obj, "status", "conditions"), lua.maybe(obj, "status", "listeners")
    problem = None if own is None else _problem(own, "Gateway")
    if problem is not None:
        return verdict(*problem)
    for listener in () if listeners is None else lua.ipairs(listeners):
        entries = lua.at(listener, "conditions")
        problem = None if entries is None else _problem(entries, "Listener")
        if problem is not None:
            code, message = problem
            return HealthVerdict(code, lua.concat("Listener: ", message))
    if own is not None or (listeners is not None and lua.length(listeners) > 0):
        return HealthVerdict(HEALTHY, "Gateway is healthy")
    return HealthVerdict(PROGRESSING, "Waiting for Gateway status")


def _route(kind: str, *, by_generation: bool) -> Check:
    """A route has the health that its parents (gateways) report.

    With `by_generation`, a parent that has not observed the latest spec is ignored.
    """

    def check(obj: Object) -> HealthVerdict:
        parents = lua.maybe(obj, "status", "parents")
        has_conditions = False
        for parent in () if parents is None else lua.ipairs(parents):
            entries = lua.at(parent, "conditions")
            if entries is None or (by_generation and not _is_observed(obj, entries)):
                continue
            problem = _problem(entries, "Route")
            if problem is not None:
                return _of_parent(parent, problem)
            has_conditions = has_conditions or lua.length(entries) > 0
        return (
            HealthVerdict(HEALTHY, f"{kind} is healthy")
            if has_conditions
            else HealthVerdict(PROGRESSING, f"Waiting for {kind} status")
        )

    return check


def _is_observed(obj: Object, entries: Json) -> bool:
    generation = lua.at_path(obj, "metadata", "generation")
    if generation is None:
        return True
    observed = (lua.at(condition, "observedGeneration") for condition in lua.ipairs(entries))
    return lua.length(entries) > 0 and all(
        observed_generation is None or lua.same(observed_generation, generation)
        for observed_generation in observed
    )


def _of_parent(parent: Json, problem: tuple[HealthCode, Json]) -> HealthVerdict:
    code, message = problem
    return HealthVerdict(code, lua.concat("Parent ", _name(parent, "parentRef"), ": ", message))


def _name(owner: Json, ref: str) -> Json:
    name = lua.at_path(owner, ref, "name")
    return name if lua.truthy(name) else ""


def backend_tls_policy(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for BackendTLSPolicy status")
    ancestors = lua.maybe(obj, "status", "ancestors")
    if ancestors is None:
        return waiting
    generation = lua.at_path(obj, "metadata", "generation")
    for ancestor, condition in _ancestor_conditions(ancestors) if generation is not None else ():
        observed = lua.at(condition, "observedGeneration")
        if observed is not None and not lua.same(observed, generation):
            name = _name(ancestor, "ancestorRef")
            text = lua.concat("Waiting for Ancestor ", name, " to update BackendTLSPolicy status")
            return HealthVerdict(PROGRESSING, text)
    accepted = False
    for ancestor, condition in _ancestor_conditions(ancestors):
        if lua.at(condition, "type") not in ("Accepted", "ResolvedRefs"):
            continue
        if lua.at(condition, "status") != "True":
            name, message = _name(ancestor, "ancestorRef"), lua.at(condition, "message")
            return HealthVerdict(DEGRADED, lua.concat("Ancestor ", name, ": ", message))
        accepted = accepted or lua.at(condition, "type") == "Accepted"
    return HealthVerdict(HEALTHY, "BackendTLSPolicy is healthy") if accepted else waiting


def _ancestor_conditions(ancestors: Json) -> Iterator[tuple[Json, Json]]:
    for ancestor in lua.ipairs(ancestors):
        for condition in lua.ipairs(lua.at(ancestor, "conditions")):
            yield ancestor, condition


_OUTDATED: Final = (
    ".metadata?.generation ~= nil and observedGeneration ~= nil"
    " and observedGeneration ~= .metadata.generation"
)

CHECKS["gateway.networking.k8s.io"] = {
    "BackendTLSPolicy": backend_tls_policy,
    "GRPCRoute": _route("GRPCRoute", by_generation=False),
    "Gateway": gateway,
    "GatewayClass": in_order(
        conditions(
            when(
                f"type == 'Accepted' and not ({_OUTDATED})",
                by(
                    "status",
                    {
                        "True": healthy("{message|GatewayClass is accepted}"),
                        "False": degraded("{message|GatewayClass is not accepted}"),
                    },
                    other=progressing("{message|Waiting for GatewayClass status}"),
                ),
            )
        ),
        progressing("Waiting for GatewayClass status"),
    ),
    "HTTPRoute": _route("HTTPRoute", by_generation=True),
}

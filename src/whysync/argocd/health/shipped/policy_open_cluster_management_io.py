"""Open Cluster Management: policies and whether clusters comply with them."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    absent,
    by,
    conditions,
    degraded,
    healthy,
    in_order,
    none_of,
    present,
    progressing,
    same,
    says,
    some,
    true,
    verdict,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_NOT_REPORTED = progressing("Waiting for the status to be reported")
_NOT_UPDATED = progressing("Waiting for the status to be updated")


def _configuration_details(obj: Object, _it: Json = None, /) -> HealthVerdict:
    """All that was found, of all clusters, in one line; without details there is no verdict yet."""
    details = lua.named(obj, "status", "compliancyDetails")
    if details is None:
        return HealthVerdict(PROGRESSING, "Waiting for compliance")
    said: list[str] = []
    for compliancy in lua.ipairs(details):
        found = lua.at(compliancy, "conditions")
        for condition in lua.ipairs(found) if found is not None else ():
            kind, message = lua.at(condition, "type"), lua.at(condition, "message")
            if kind is not None and message is not None:
                said.append(lua.concat(kind, " - ", message))
    return HealthVerdict(_compliance(obj), "; ".join(said))


def _who_does_not_comply(obj: Object, _it: Json = None, /) -> HealthVerdict:
    """A root policy knows its clusters (`status`), a replicated one its templates (`details`)."""
    status = lua.at(obj, "status")
    clusters, templates = lua.at(status, "status"), lua.at(status, "details")
    if clusters is not None:
        bad = [lua.at(entry, "clustername") for entry in _not_compliant(clusters)]
        return verdict(_compliance(obj), _listed("clusters", bad))
    if templates is not None:
        bad = [lua.named(entry, "templateMeta", "name") for entry in _not_compliant(templates)]
        return verdict(_compliance(obj), _listed("templates", bad))
    return verdict(_compliance(obj))


def _not_compliant(entries: Json) -> list[Json]:
    return [entry for entry in lua.ipairs(entries) if lua.at(entry, "compliant") != "Compliant"]


def _listed(what: str, names: list[Json]) -> str:
    if lua.length(names) == 0:  # nameless ones are not counted
        return f"All {what} are compliant"
    return f"NonCompliant {what}: {lua.joined(names, ', ')}"


def _compliance(obj: Object) -> HealthCode:
    return HEALTHY if lua.named(obj, "status", "compliant") == "Compliant" else DEGRADED


GROUP = "policy.open-cluster-management.io"
CHECKS: dict[str, Check] = {
    "CertificatePolicy": in_order(
        when(absent(".status?.compliant"), then=_NOT_REPORTED),
        by(
            ".status.compliant",
            {"Compliant": healthy("All certificates found comply with the policy")},
            degraded("At least once certificate does not comply with the policy"),
        ),
    ),
    "ConfigurationPolicy": in_order(
        when(absent(".status?.compliant"), then=_NOT_REPORTED),
        when(
            none_of(same(".status.lastEvaluatedGeneration", ".metadata.generation")),
            then=_NOT_UPDATED,
        ),
        _configuration_details,
    ),
    "OperatorPolicy": in_order(
        when(absent(".status?.conditions"), then=_NOT_REPORTED),
        when(
            present(".status.observedGeneration"),
            none_of(same(".status.observedGeneration", ".metadata.generation")),
            then=_NOT_UPDATED,
        ),
        conditions(
            says("Compliant", "True", healthy("{message}")),
            says("Compliant", None, degraded("{message}")),
        ),
        progressing("Waiting for the compliance condition"),
    ),
    "Policy": in_order(
        when(true(".spec.disabled"), then=healthy("Policy is disabled")),
        when(absent(".status"), then=_NOT_REPORTED),
        when(
            absent(".status.compliant"),
            absent(".status.status"),
            some(".status.placement"),
            then=healthy("No clusters match this policy"),
        ),
        when(absent(".status.compliant"), then=_NOT_REPORTED),
        _who_does_not_comply,
    ),
}

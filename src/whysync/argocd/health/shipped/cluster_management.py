"""Clusters that manage clusters: Cluster API, Open Cluster Management, Karmada, Gardener."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    SPEC_NOT_OBSERVED,
    Check,
    all_of,
    any_of,
    by,
    code_for,
    condition_is,
    conditions,
    degraded,
    each,
    healthy,
    in_order,
    progressing,
    suspended,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Cluster API: add-ons.

CHECKS["addons.cluster.x-k8s.io"] = {
    "ClusterResourceSet": in_order(
        conditions(
            condition_is("ResourcesApplied", "True", healthy("cluster resource set is applied")),
            condition_is("ResourcesApplied", "False", degraded("{message}")),
        ),
        progressing("Initializing cluster resource set"),
    )
}


# Cluster API: clusters and their machines.

_POOL_PHASES: Final = {"Running": HEALTHY, "Scaling": HEALTHY, "Failed": DEGRADED, "Unknown": DEGRADED}


def machine_pool(obj: Object) -> HealthVerdict:
    """The phase decides; the message contains all conditions that are not True."""
    code, text = PROGRESSING, ""
    phase = lua.maybe(obj, "status", "phase")
    if phase is not None:
        text = lua.concat("MachinePool is ", phase)
        code = code_for(phase, _POOL_PHASES)
    entries = lua.maybe(obj, "status", "conditions")
    complaints = [
        lua.concat("Not ", kind) + (lua.concat(" (", reason, ")") if reason is not None else "")
        for kind, reason in _false_conditions([] if entries is None else entries)
    ]
    return HealthVerdict(code, f"{text}: {', '.join(complaints)}" if complaints else text)


def _false_conditions(entries: Json) -> list[tuple[Json, Json]]:
    return [
        (lua.at(entry, "type"), lua.at(entry, "reason"))
        for entry in lua.ipairs(entries)
        if lua.at(entry, "type") is not None and lua.at(entry, "status") == "False"
    ]


CHECKS["cluster.x-k8s.io"] = {
    "Cluster": in_order(
        when(".spec.paused", suspended("Cluster is paused")),
        conditions(
            when("type == 'Ready' and status == 'False' and severity ~= 'Info'", degraded("{message}"))
        ),
        by(".status?.phase", {"Provisioned": healthy("Cluster is running"), "Failed": degraded()}),
        progressing("Waiting for clusters"),
    ),
    "Machine": in_order(
        by(".status?.phase", {"Running": healthy("Machine is running")}),
        conditions(
            condition_is(
                "Ready",
                "False",
                by(".status.phase", {"Failed": degraded("{message}")}, other=progressing("{message}")),
            )
        ),
        by(".status?.phase", {"Failed": degraded("Condition is unknown")}),
        progressing("Condition is unknown"),
    ),
    "MachineDeployment": in_order(
        when(".spec.paused", suspended("MachineDeployment is paused")),
        by(
            ".status?.phase",
            {
                "Running": healthy("Machines are running under this deployment"),
                "ScalingUp": progressing("Cluster is spawning machines"),
                "ScalingDown": progressing("Cluster is stopping machines"),
                "Failed": degraded("MachineDeployment is failed"),
            },
        ),
        progressing("Waiting for machines"),
    ),
    "MachineHealthCheck": in_order(
        when(".status?.currentHealthy == nil", progressing()),
        when(".status.expectedMachines == .status.currentHealthy", healthy()),
        degraded(),
    ),
    "MachinePool": machine_pool,
}


# Cluster API: control planes.


def _ready_unless_errors(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
    """Ready takes precedence over errors; without it the message has all errors, each followed by a space."""
    errors = ""
    for condition in lua.ipairs(lua.at_path(obj, "status", "conditions")):
        status = lua.at(condition, "status")
        if lua.at(condition, "type") == "Ready" and status == "True":
            return HealthVerdict(HEALTHY, "Control plane is ready")
        if status == "False" and lua.at(condition, "severity") == "Error":
            errors += lua.concat(lua.at(condition, "message"), " ")
    return HealthVerdict(DEGRADED, errors) if errors else None


CHECKS["controlplane.cluster.x-k8s.io"] = {
    "AWSManagedControlPlane": in_order(
        when(".status == nil", progressing("Provisioning...")),
        when(SPEC_NOT_OBSERVED, progressing("Waiting for the control plane spec to be reconciled")),
        when(
            ".status.failureMessage ~= nil and .status.failureMessage ~= ''",
            degraded("{.status.failureMessage}"),
        ),
        when(".status.conditions == nil", progressing("Provisioning...")),
        conditions(
            condition_is("EKSControlPlaneUpdating", "True", progressing("EKS control plane is updating"))
        ),
        _ready_unless_errors,
        when(".status.ready == false", progressing("Control plane is not ready (.status.ready is false)")),
        progressing("Control plane is not ready"),
    )
}


# Open Cluster Management: policies and whether clusters comply with them.

_NOT_REPORTED = progressing("Waiting for the status to be reported")
_NOT_UPDATED = progressing("Waiting for the status to be updated")


def _configuration_details(obj: Object, _item: Json = None, /) -> HealthVerdict:
    """The message lists the results of all clusters; without details there is no verdict yet."""
    details = lua.at_path(obj, "status", "compliancyDetails")
    if details is None:
        return HealthVerdict(PROGRESSING, "Waiting for compliance")
    messages: list[str] = []
    for compliancy in lua.ipairs(details):
        conditions = lua.at(compliancy, "conditions")
        for condition in lua.ipairs(conditions) if conditions is not None else ():
            kind, message = lua.at(condition, "type"), lua.at(condition, "message")
            if kind is not None and message is not None:
                messages.append(lua.concat(kind, " - ", message))
    return HealthVerdict(_compliance(obj), "; ".join(messages))


def _non_compliant(obj: Object, _item: Json = None, /) -> HealthVerdict:
    """A root policy has clusters (`status`), a replicated one templates (`details`)."""
    status = lua.at(obj, "status")
    clusters, templates = lua.at(status, "status"), lua.at(status, "details")
    if clusters is not None:
        bad = [lua.at(entry, "clustername") for entry in _not_compliant(clusters)]
        return verdict(_compliance(obj), _listed("clusters", bad))
    if templates is not None:
        bad = [lua.at_path(entry, "templateMeta", "name") for entry in _not_compliant(templates)]
        return verdict(_compliance(obj), _listed("templates", bad))
    return verdict(_compliance(obj))


def _not_compliant(entries: Json) -> list[Json]:
    return [entry for entry in lua.ipairs(entries) if lua.at(entry, "compliant") != "Compliant"]


def _listed(plural: str, names: list[Json]) -> str:
    if lua.length(names) == 0:  # nameless ones are not counted
        return f"All {plural} are compliant"
    return f"NonCompliant {plural}: {lua.joined(names, ', ')}"


def _compliance(obj: Object) -> HealthCode:
    return HEALTHY if lua.at_path(obj, "status", "compliant") == "Compliant" else DEGRADED


CHECKS["policy.open-cluster-management.io"] = {
    "CertificatePolicy": in_order(
        when(".status?.compliant == nil", _NOT_REPORTED),
        by(
            ".status.compliant",
            {"Compliant": healthy("All certificates found comply with the policy")},
            degraded("At least once certificate does not comply with the policy"),
        ),
    ),
    "ConfigurationPolicy": in_order(
        when(".status?.compliant == nil", _NOT_REPORTED),
        when(".status.lastEvaluatedGeneration ~= .metadata.generation", _NOT_UPDATED),
        _configuration_details,
    ),
    "OperatorPolicy": in_order(
        when(".status?.conditions == nil", _NOT_REPORTED),
        when(
            ".status.observedGeneration ~= nil and .status.observedGeneration ~= .metadata.generation",
            _NOT_UPDATED,
        ),
        conditions(
            condition_is("Compliant", "True", healthy("{message}")),
            condition_is("Compliant", None, degraded("{message}")),
        ),
        progressing("Waiting for the compliance condition"),
    ),
    "Policy": in_order(
        when(".spec.disabled", healthy("Policy is disabled")),
        when(".status == nil", _NOT_REPORTED),
        when(
            ".status.compliant == nil and .status.status == nil and some(.status.placement)",
            healthy("No clusters match this policy"),
        ),
        when(".status.compliant == nil", _NOT_REPORTED),
        _non_compliant,
    ),
}


# Karmada: bindings of resources to clusters. All clusters must report before any is assessed.

_INSUFFICIENT = progressing("Current resource status is insufficient")
_UNHEALTHY = degraded("Current resource status is unhealthy")


def _clusters_unreported(obj: Object, _item: Json) -> bool:
    clusters, reported = lua.at_path(obj, "spec", "clusters"), lua.at_path(obj, "status", "aggregatedStatus")
    return lua.length(clusters) != lua.length(reported)


_EACH_CLUSTER = in_order(
    each(
        ".status.aggregatedStatus",
        when("health == 'Unhealthy'", _UNHEALTHY),
        when("health == 'Unknown' and applied ~= true", _UNHEALTHY),
    ),
    healthy(),
)

CHECKS["work.karmada.io"] = {
    "ClusterResourceBinding": in_order(
        when(
            any_of(
                ".status == nil",
                "not some(.spec.clusters)",
                ".status?.aggregatedStatus == nil",
                _clusters_unreported,
            ),
            _INSUFFICIENT,
        ),
        _EACH_CLUSTER,
    ),
    # A binding of a dependency has no clusters.
    "ResourceBinding": in_order(
        when(".status == nil", _INSUFFICIENT),
        when(".spec.clusters ~= nil and not some(.spec.clusters)", _INSUFFICIENT),
        when("not some(.status.aggregatedStatus)", _INSUFFICIENT),
        when(all_of(".spec.clusters ~= nil", _clusters_unreported), _INSUFFICIENT),
        _EACH_CLUSTER,
    ),
}


# Gardener: a Shoot carries its state in a label.

CHECKS["core.gardener.cloud"] = {
    "Shoot": by(
        ".metadata.labels?['shoot.gardener.cloud/status']",
        {
            "healthy": healthy("Component state: Healthy"),
            "progressing": progressing("Component state: Update in progress"),
            "unhealthy": degraded("Component state: Unhealthy"),
            "unknown": unknown("Component state: Unknown"),
        },
        other=progressing("Update in progress"),
    )
}

"""Cluster API: clusters and their machines."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    absent,
    by,
    code_for,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    progressing,
    same,
    says,
    suspended,
    true,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "cluster.x-k8s.io"

_POOL_PHASES: Final = {"Running": HEALTHY, "Scaling": HEALTHY, "Failed": DEGRADED, "Unknown": DEGRADED}


def machine_pool(obj: Object) -> HealthVerdict:
    """The phase decides; the message goes on with all that is not well."""
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


CHECKS: Final[dict[str, Check]] = {
    "Cluster": in_order(
        when(true(".spec.paused"), then=suspended("Cluster is paused")),
        conditions(
            when(
                is_("type", "Ready"),
                is_("status", "False"),
                isnt("severity", "Info"),
                then=degraded("{message}"),
            )
        ),
        by(".status?.phase", {"Provisioned": healthy("Cluster is running"), "Failed": degraded()}),
        progressing("Waiting for clusters"),
    ),
    "Machine": in_order(
        by(".status?.phase", {"Running": healthy("Machine is running")}),
        conditions(
            says(
                "Ready",
                "False",
                by(
                    ".status.phase",
                    {"Failed": degraded("{message}")},
                    other=progressing("{message}"),
                ),
            )
        ),
        by(".status?.phase", {"Failed": degraded("Condition is unknown")}),
        progressing("Condition is unknown"),
    ),
    "MachineDeployment": in_order(
        when(true(".spec.paused"), then=suspended("MachineDeployment is paused")),
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
        when(absent(".status?.currentHealthy"), then=progressing()),
        when(same(".status.expectedMachines", ".status.currentHealthy"), then=healthy()),
        degraded(),
    ),
    "MachinePool": machine_pool,
}

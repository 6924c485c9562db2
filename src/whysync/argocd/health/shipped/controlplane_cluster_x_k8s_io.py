"""Cluster API: control planes."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    Check,
    absent,
    conditions,
    degraded,
    in_order,
    is_,
    isnt,
    none_of,
    present,
    progressing,
    same,
    says,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "controlplane.cluster.x-k8s.io"


def _ready_unless_errors(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
    """Ready wins over errors; without it, all errors are told, each with a blank behind it."""
    errors = ""
    for condition in lua.ipairs(lua.named(obj, "status", "conditions")):
        status = lua.at(condition, "status")
        if lua.at(condition, "type") == "Ready" and status == "True":
            return HealthVerdict(HEALTHY, "Control plane is ready")
        if status == "False" and lua.at(condition, "severity") == "Error":
            errors += lua.concat(lua.at(condition, "message"), " ")
    return HealthVerdict(DEGRADED, errors) if errors else None


CHECKS: Final[dict[str, Check]] = {
    "AWSManagedControlPlane": in_order(
        when(absent(".status"), then=progressing("Provisioning...")),
        when(
            present(".metadata.generation"),
            present(".status.observedGeneration"),
            none_of(same(".status.observedGeneration", ".metadata.generation")),
            then=progressing("Waiting for the control plane spec to be reconciled"),
        ),
        when(
            present(".status.failureMessage"),
            isnt(".status.failureMessage", ""),
            then=degraded("{.status.failureMessage}"),
        ),
        when(absent(".status.conditions"), then=progressing("Provisioning...")),
        conditions(says("EKSControlPlaneUpdating", "True", progressing("EKS control plane is updating"))),
        _ready_unless_errors,
        when(
            is_(".status.ready", False),
            then=progressing("Control plane is not ready (.status.ready is false)"),
        ),
        progressing("Control plane is not ready"),
    )
}

"""Operators that manage resources of a cloud: AWS, Google, SAP, Pulumi, Spot, Karpenter."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    SPEC_NOT_OBSERVED,
    Check,
    by,
    condition_is,
    conditions,
    degraded,
    each,
    healthy,
    in_order,
    message,
    nothing,
    path,
    progressing,
    suspended,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Google Config Connector: all kinds of all groups under `cnrm.cloud.google.com`.

_CONNECTOR: Final = ".kind in ('ConfigConnector', 'ConfigConnectorContext')"
_OBSERVED: Final = ".status.observedGeneration == nil or .status.observedGeneration == .metadata.generation"

CHECKS["*.cnrm.cloud.google.com"] = {
    "*": in_order(
        when(".status == nil", progressing("Update in progress")),
        when(
            f"{_CONNECTOR} and .status.healthy ~= nil and ({_OBSERVED})",
            when(".status.healthy == true", healthy("{.kind} is healthy")),
            degraded("{.kind} is not healthy"),
        ),
        when(
            f".status.conditions ~= nil and ({_OBSERVED})",
            conditions(
                when("reason == 'UpToDate' and status == 'True'", healthy("{message}")),
                by(
                    "reason",
                    {
                        "UpdateFailed": degraded("{message}"),
                        "DependencyNotFound": degraded("{message}"),
                        "DependencyNotReady": suspended("{message}"),
                    },
                ),
            ),
        ),
        progressing("Update in progress"),
    )
}


# Google Kubernetes Engine: managed certificates.

CHECKS["networking.gke.io"] = {
    "ManagedCertificate": in_order(
        each(
            ".status?.domainStatus",
            when(
                "status == 'FailedNotVisible'",
                degraded("At least one certificate has failed to be provisioned"),
            ),
        ),
        when(".status?.certificateStatus == 'Active'", healthy("All certificates are active")),
        progressing("At least one certificate is still being provisioned"),
    )
}


# AWS Controllers for Kubernetes: all kinds of all groups under `services.k8s.aws`.

CHECKS["*.services.k8s.aws"] = {
    "*": in_order(
        conditions(
            condition_is("ACK.Terminal", "True", degraded("{message}")),
            condition_is("Ready", "False", progressing("{message}")),
            condition_is("Ready", "True", healthy()),
        ),
        progressing("Waiting for resource to be ready"),
    )
}


# iam-manager: roles in AWS.

_WHICH = message(
    "for role '{.status.roleName|<none>}' with ARN '{.status.roleARN|<none>}' "
    "and ID '{.status.roleID|<none>}'."
)


def _failed(obj: Object, item: Json = None, /) -> HealthVerdict:
    status = lua.at(obj, "status")
    retries, error = lua.at(status, "retryCount"), lua.at(status, "errorDescription")
    message = "Failed to reconcile the Iamrole "
    if retries is not None and lua.less(0, retries):
        message = lua.concat(message, "(retry ", retries, ") ")
    message = lua.concat(message, _WHICH(obj, item))
    if error is not None:
        message = lua.concat(message, " Reconciliation error was: ", error)
    return verdict(DEGRADED, message)


CHECKS["iammanager.keikoproj.io"] = {
    "Iamrole": by(
        ".status?.state",
        {
            "Ready": healthy(
                "Role '{.status.roleName|<none>}' exists with ARN '{.status.roleARN|<none>}' "
                "and ID '{.status.roleID|<none>}'."
            ),
            "Error": _failed,
            "RolesMaxLimitReached": _failed,
            "PolicyNotAllowed": _failed,
            "RoleNameNotAvailable": _failed,
        },
        progressing("Waiting for Iamrole to be reconciled"),
    )
}


# Karpenter on AWS: node classes.

CHECKS["karpenter.k8s.aws"] = {
    "EC2NodeClass": in_order(
        conditions(
            condition_is("Ready", "False", degraded("{message}")),
            condition_is("Ready", "True", healthy("EC2NodeClass is ready")),
        ),
        progressing("Waiting for EC2NodeClass to be ready"),
    )
}


# Karpenter: node pools and the nodes claimed from them.

_READY = conditions(
    condition_is("Ready", "True", healthy("{message}")), condition_is("Ready", "False", degraded("{message}"))
)

CHECKS["karpenter.sh"] = {
    "NodeClaim": in_order(
        when(SPEC_NOT_OBSERVED, progressing("Waiting for NodeClaim spec to be reconciled")),
        conditions(condition_is("Disrupting", "True", suspended("{message}"))),
        _READY,
        conditions(condition_is("Initialized", "True", progressing("Node initialized, waiting for Ready"))),
        conditions(
            condition_is("Registered", "True", progressing("Node registered, waiting for initialization"))
        ),
        conditions(condition_is("Launched", "True", progressing("Node launched, waiting for registration"))),
        progressing("Waiting for NodeClaim to be launched"),
    ),
    "NodePool": in_order(_READY, progressing("Waiting for NodePool to be ready")),
}


# SAP BTP: service instances and bindings. With conditions, only a failure keeps them from being healthy.

_FAILED = degraded("{message|}")
_CONDITIONS = path(".status?.conditions")


def _has_conditions(obj: Object, item: Json) -> bool:
    return isinstance(_CONDITIONS(obj, item), list | dict)


_SERVICE = in_order(
    when(".metadata.deletionTimestamp", progressing("Resource is being deleted")),
    when(
        _has_conditions,
        conditions(
            when(
                "observedGeneration and .metadata.generation and observedGeneration ~= .metadata.generation",
                progressing("Waiting for spec update to be observed"),
            ),
            condition_is("Succeeded", "False", _FAILED),
            condition_is("Failed", "True", _FAILED),
        ),
        healthy("Ready to use"),
    ),
    progressing("Waiting for status"),
)

CHECKS["services.cloud.sap.com"] = {"ServiceBinding": _SERVICE, "ServiceInstance": _SERVICE}


# Pulumi: stacks.

CHECKS["pulumi.com"] = {
    "Stack": in_order(
        when(
            ".status == nil or .status.observedGeneration ~= .metadata.generation",
            progressing("Waiting for the operator to observe the latest spec change"),
        ),
        conditions(
            condition_is("Stalled", "True", degraded("{message}")),
            condition_is("Reconciling", "True", progressing("{message}")),
            condition_is("Ready", "True", healthy("{message}")),
        ),
        progressing("Waiting for the stack to be reconciled"),
    )
}


# Spot by NetApp: deployments. Without conditions, the check returns nothing.

CHECKS["spot.io"] = {
    "SpotDeployment": in_order(
        when(".status?.conditions == nil", nothing),
        conditions(
            condition_is("InvalidSpec", None, degraded("{message}")),
            condition_is("Progressing", None, degraded("{message}"), reason="RolloutAborted"),
            condition_is("Progressing", None, degraded("{message}"), reason="ProgressDeadlineExceeded"),
            condition_is("Paused", "True", suspended("Rollout is paused")),
        ),
        when(".status.phase == 'Progressing'", progressing("Waiting for rollout to finish steps")),
        healthy(),
    )
}

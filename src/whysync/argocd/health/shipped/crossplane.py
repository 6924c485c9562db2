"""Crossplane and Upbound: providers, managed resources, the classic AWS provider."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Crossplane: all kinds of all groups under `crossplane.io` that have no check of their own.

_PROVISIONING: Final = progressing("Provisioning ...")
_UP_TO_DATE: Final = healthy("Resource is up-to-date.")


def managed(*, without_status: str, ready: str) -> Step:
    """An object without status is healthy; one with an empty status only if its kind never has one.

    Both parameters are lists of quoted names.
    """
    return in_order(
        when(".status == nil", _UP_TO_DATE),
        when(f"empty(.status) and .kind in ({without_status})", _UP_TO_DATE),
        when(
            ".status.conditions == nil",
            when(
                ".kind in ('ProviderConfig', 'ClusterProviderConfig') and .status.users ~= nil",
                healthy("Resource is in use."),
            ),
            _PROVISIONING,
        ),
        conditions(
            condition_is("LastAsyncOperation", "False", degraded("{message}")),
            condition_is("Synced", "False", degraded("{message}")),
        ),
        conditions(when(f"type in ({ready}) and status == 'True'", _UP_TO_DATE)),
        _PROVISIONING,
    )


CHECKS["*.crossplane.io"] = {
    "*": managed(
        # ControllerConfig: Crossplane 1 only
        without_status="'Composition', 'CompositionRevision', 'DeploymentRuntimeConfig', "
        "'ClusterProviderConfig', 'ProviderConfig', 'ProviderConfigUsage', 'ControllerConfig'",
        ready="'Ready', 'Healthy', 'Offered', 'Established', 'ValidPipeline', 'RevisionHealthy'",
    )
}


# Upbound's Crossplane providers: all kinds of all groups under `upbound.io`.

CHECKS["*.upbound.io"] = {
    "*": managed(
        without_status="'ClusterProviderConfig', 'ProviderConfig', 'ProviderConfigUsage'", ready="'Ready'"
    )
}


# Crossplane: providers.


def _provider(obj: Object) -> HealthVerdict:
    """Installed and Healthy must be True, and both must exist for the message."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for provider to be installed")
    status: dict[str, Json] = {}
    reason: dict[str, Json] = {}
    for condition in lua.ipairs(entries):
        kind = lua.at(condition, "type")
        if isinstance(kind, str):
            status[kind] = lua.at(condition, "status")
            reason[kind] = lua.at(condition, "reason")
    good = status.get("Installed") == "True" and status.get("Healthy") == "True"
    message = lua.concat(reason.get("Installed"), " ", reason.get("Healthy"))
    return HealthVerdict(HEALTHY if good else DEGRADED, message)


CHECKS["pkg.crossplane.io"] = {"Provider": _provider}


# Crossplane's stacks of old.


def _stack_install(obj: Object) -> HealthVerdict:
    """Progressing until Ready is True, with the message of the last Ready condition."""
    message: Json = "Waiting for stack to be installed"
    entries = lua.maybe(obj, "status", "conditionedStatus", "conditions")
    for condition in lua.ipairs(entries) if entries is not None else ():
        if lua.at(condition, "type") == "Ready":
            message = lua.at(condition, "reason")
            if lua.at(condition, "status") == "True":
                return verdict(HEALTHY, message)
    return verdict(PROGRESSING, message)


CHECKS["stacks.crossplane.io"] = {"ClusterStackInstall": _stack_install}


# How the kinds of Crossplane's classic AWS provider are judged: by Ready and Synced together.


def ready_and_synced(name: str) -> Check:
    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, f"Waiting for {name} to be created")
        ready = synced = paused = False
        readiness: Json = None
        sync_error: Json = None
        for condition in lua.ipairs(entries):
            kind, reason = lua.at(condition, "type"), lua.at(condition, "reason")
            if kind == "Ready":
                ready = lua.at(condition, "status") == "True"
                readiness = reason
            elif kind == "Synced":
                synced = lua.at(condition, "status") == "True"
                paused = paused or reason == "ReconcilePaused"
                if reason == "ReconcileError":
                    sync_error = lua.at(condition, "message")
        if ready and synced:
            return verdict(HEALTHY, readiness)
        if paused and not synced:
            return HealthVerdict(SUSPENDED, "ReconcilePaused")
        if synced and not paused:
            return HealthVerdict(PROGRESSING, f"Waiting for {name} to be available")
        return verdict(DEGRADED, sync_error)

    return check


# Crossplane, AWS: content delivery.

CHECKS["cloudfront.aws.crossplane.io"] = {"Distribution": ready_and_synced("distribution")}


# Crossplane, AWS: identities.

CHECKS["iam.aws.crossplane.io"] = {
    "Policy": ready_and_synced("Policy"),
    "Role": ready_and_synced("Role"),
    "RolePolicyAttachment": ready_and_synced("RolePolicyAttachment"),
}


# Crossplane, AWS: relational databases.

CHECKS["rds.aws.crossplane.io"] = {
    "DBCluster": ready_and_synced("DBCluster"),
    "DBInstance": ready_and_synced("DBInstance"),
}


# Crossplane, AWS: DNS records. The odd word in the messages is upstream's.

CHECKS["route53.aws.crossplane.io"] = {"ResourceRecordSet": ready_and_synced("resourcrecordset")}


# Crossplane, AWS: buckets.

CHECKS["s3.aws.crossplane.io"] = {"Bucket": ready_and_synced("Bucket")}

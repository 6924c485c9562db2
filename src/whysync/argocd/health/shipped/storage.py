"""Storage: NetApp, Rook, MinIO, object buckets."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
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
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# NetApp Astra: protection of applications by backups and snapshots.

_NOT_YET: Final = progressing("No status available")

_RUN: Final = in_order(
    when(".status?.state == nil", _NOT_YET),
    by(
        ".status.state",
        {"Completed": healthy("{.kind} Completed"), "Running": progressing("{.kind} Running")},
        other=degraded("{.status.state}"),
    ),
)

CHECKS["astra.netapp.io"] = {
    "AppVault": in_order(
        by(
            ".status?.state",
            {
                "available": healthy("{.kind} Available"),
                "Available": healthy("{.kind} Available"),
                "failed": degraded("{.kind} Failed"),
                "Failed": degraded("{.kind} Failed"),
            },
            other=_NOT_YET,
        )
    ),
    "Application": in_order(
        conditions(
            condition_is(
                "Ready",
                "True",
                healthy("Astra Application Ready, protectionState: {.status.protectionState}"),
            ),
            condition_is("Ready", "False", degraded("Astra Application Degraded, message: {message}")),
        ),
        _NOT_YET,
    ),
    "Backup": _RUN,
    "ExecHook": in_order(
        when(".spec?.enabled == true", healthy("{.kind} enabled")),
        when(".spec?.enabled == false", suspended("{.kind} disabled")),
        _NOT_YET,
    ),
    "ExecHooksRun": _RUN,
    "ResourceBackup": _RUN,
    "ResticVolumeBackup": _RUN,
    "Schedule": in_order(
        when(
            ".status?.lastScheduleTime ~= nil",
            healthy("Protection policy lastScheduleTime: {.status.lastScheduleTime}"),
        ),
        healthy("Protection policy not yet executed"),
    ),
    "Snapshot": _RUN,
}


# NetApp Trident.

_HEALTHY = healthy("{.status.message}")
_DEGRADED = degraded("{.status.message}")

CHECKS["trident.netapp.io"] = {
    "TridentBackendConfig": in_order(
        when(".status?.phase == 'Bound' and .status.lastOperationStatus == 'Success'", _HEALTHY),
        when(".status?.lastOperationStatus == 'Failed'", _DEGRADED),
        progressing("Waiting for backend creation"),
    ),
    "TridentOrchestrator": by(
        ".status?.status",
        {"Installed": _HEALTHY, "Failed": _DEGRADED, "Error": _DEGRADED},
        progressing("Waiting for trident installation"),
    ),
}


# Rook: Cassandra.

_WAITING: Final = progressing("Waiting for Cassandra Cluster")

CHECKS["cassandra.rook.io"] = {
    "Cluster": in_order(
        when(".status?.racks == nil", _WAITING),
        each(
            ".status.racks",
            when("members ~= nil and readyMembers ~= nil and members ~= readyMembers", _WAITING),
            keyed=True,
        ),
        healthy(),
    )
}


# Rook: Ceph.

_HEALTHS: Final = {"HEALTH_ERR": DEGRADED, "HEALTH_WARN": DEGRADED, "HEALTH_OK": HEALTHY}
_PHASES: Final = {"Ready": HEALTHY, "Failure": DEGRADED}
_STATES: Final = {"Created": HEALTHY, "Connected": HEALTHY, "Error": DEGRADED}


def ceph_cluster(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    if status is None:
        return HealthVerdict(PROGRESSING, "Waiting for status to be reported")
    code, messages = PROGRESSING, list[Json]()
    ceph, state, closing = lua.at(status, "ceph"), lua.at(status, "state"), lua.at(status, "message")
    health = lua.maybe(ceph, "health")
    if health is not None:
        code = code_for(health, _HEALTHS)
        messages.append(lua.concat("Ceph health is ", health, _details(lua.at(ceph, "details"))))
    if state is not None and code == HEALTHY:
        messages.append(lua.concat("Ceph cluster state is ", state))
        code = code_for(state, _STATES)
    if closing is not None and closing != "":
        messages.append(closing)
    if len(messages) == 1:
        return verdict(code, messages[0])
    return HealthVerdict(code, " - ".join(lua.concat(text) for text in messages))


def _details(details: Json) -> str:
    """The health messages of Ceph, in the order of their codes."""
    if details is None:
        return ""
    entries = [details[code] for code in sorted(details)] if isinstance(details, dict) else lua.pairs(details)
    texts = [lua.at(entry, "message") for entry in entries if entry is not None]
    messages: list[Json] = [text for text in texts if text is not None]
    return f" ({lua.joined(messages, '; ')})" if messages else ""


def ceph_object_store(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    code, text = PROGRESSING, "Waiting for status to be reported"
    phase = lua.maybe(status, "phase")
    if phase is not None:
        text = lua.concat("Ceph object store phase is ", phase)
        code = code_for(phase, _PHASES)
    endpoint = lua.maybe(status, "info", "endpoint")
    if endpoint is not None and endpoint != "":
        text = lua.concat(text, " - endpoint: ", endpoint)
    return HealthVerdict(code, text)


CHECKS["ceph.rook.io"] = {"CephCluster": ceph_cluster, "CephObjectStore": ceph_object_store}


# MinIO: tenants. The state is the message; whatever is not listed is on its way.

_MINIO_STATES = {
    "Initialized": HEALTHY,
    "Statefulset not controlled by operator": DEGRADED,
    "Another MinIO Tenant already exists in the namespace": DEGRADED,
    "Tenant credentials are not set properly": DEGRADED,
    "Different versions across MinIO Pools": DEGRADED,
    "Pool Decommissioning Not Allowed": DEGRADED,
}


def _tenant(obj: Object) -> HealthVerdict:
    state: Json = lua.maybe(obj, "status", "currentState")
    if state is None:
        return HealthVerdict(PROGRESSING, "No status info available")
    if not isinstance(state, str):
        raise lua.LuaError(f"attempt to index a non-table object({lua.type_name(state)}) with key 'find'")
    return HealthVerdict(_MINIO_STATES.get(state, PROGRESSING), state)


CHECKS["minio.min.io"] = {"Tenant": _tenant}


# Object bucket claims.

_PHASE = "Object bucket claim phase is {.status.phase}"

CHECKS["objectbucket.io"] = {
    "ObjectBucketClaim": in_order(
        when(".status == nil", progressing("Waiting for status to be reported")),
        when(".status.phase == nil", progressing("Waiting for phase to be reported")),
        by(".status.phase", {"Bound": healthy(_PHASE), "Failed": degraded(_PHASE)}, progressing(_PHASE)),
    )
}

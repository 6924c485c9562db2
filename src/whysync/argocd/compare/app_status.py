"""The Application's status after a comparison, in Argo CD's JSON. Mirrors the end of
`processAppRefreshQueueItem` and `persistAppStatus`, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from whysync.argocd.api.application import Condition, HealthCode, SyncCode
from whysync.argocd.compare.comparison import ComparedResource, Inputs
from whysync.argocd.health.application import AppHealth, health_status
from whysync.json_tree import Json, Object, fields, items

# The condition types that a comparison sets or clears; conditions of other types stay.
EVALUATED: Final = (
    "ComparisonError",
    "SharedResourceWarning",
    "RepeatedResourceWarning",
    "ExcludedResourceWarning",
)


def status_after(
    inputs: Inputs,
    *,
    sync: SyncCode,
    health: AppHealth,
    resources: Sequence[ComparedResource],
    conditions: Iterable[Condition],
) -> Object:
    before = fields(inputs.application.get("status"))
    inline = inputs.settings.persist_resource_health
    now = go_time(inputs.now)
    rows: list[Json] = [row.body for row in _rows(inputs, resources, inline=inline).by_name]
    after = _without(before, "resources", "conditions", "resourceHealthSource")
    after["reconciledAt"] = now
    after["sync"] = sync_status(inputs, sync)
    after["health"] = health_status(fields(before.get("health")), health, persisted=inline, now=now)
    after["controllerNamespace"] = inputs.control_plane_namespace
    if not inline:
        after["resourceHealthSource"] = "appTree"
    if rows:
        after["resources"] = rows
    merged_conditions = set_conditions(inputs.app.status.conditions, conditions, EVALUATED, inputs.now)
    return after | conditions_json(merged_conditions)


def status_without_settings(inputs: Inputs) -> Object:
    """The settings cannot be read: sync and health are Unknown, without resources and without a condition."""
    before = fields(inputs.application.get("status"))
    now = go_time(inputs.now)
    unknown = AppHealth(code=HealthCode.UNKNOWN, message="", rows=())
    after = _without(before, "resources")
    after["reconciledAt"] = now
    after["sync"] = sync_status(inputs, SyncCode.UNKNOWN)
    after["health"] = health_status(fields(before.get("health")), unknown, persisted=True, now=now)
    return after


def sync_status(inputs: Inputs, code: SyncCode) -> Object:
    spec = inputs.spec
    has_multiple = bool(items(spec.get("sources")))
    # With several sources, Go also writes an empty single source.
    compared: Object = {"source": {"repoURL": ""} if has_multiple else spec.get("source") or {"repoURL": ""}}
    compared["destination"] = spec.get("destination") or {}
    if has_multiple:
        compared["sources"] = spec["sources"]
    if spec.get("ignoreDifferences"):
        compared["ignoreDifferences"] = spec["ignoreDifferences"]
    status: Object = {"status": str(code), "comparedTo": compared}
    revisions: list[Json] = list(inputs.revisions)
    if revisions and has_multiple:
        status["revisions"] = revisions
    elif revisions:
        status["revision"] = revisions[0]
    return status


def go_time(instant: datetime) -> str:
    """RFC 3339 in UTC with a resolution of a second, as Kubernetes writes times."""
    utc = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%SZ}"


def conditions_json(conditions: Iterable[Condition]) -> Object:
    """The `conditions` field of a status; empty without conditions."""
    rows: list[Json] = [_condition(condition) for condition in conditions]
    return {"conditions": rows} if rows else {}


def _condition(condition: Condition) -> Object:
    row: Object = {"type": condition.type, "message": condition.message}
    if condition.last_transition_time is not None:
        row["lastTransitionTime"] = go_time(condition.last_transition_time)
    return row


class _Row(NamedTuple):
    name: str
    body: Object


class _Rows(NamedTuple):
    by_name: tuple[_Row, ...]


def _rows(inputs: Inputs, resources: Sequence[ComparedResource], *, inline: bool) -> _Rows:
    """Sorted by name; rows of the same name in the order of the comparison."""

    def row(resource: ComparedResource) -> _Row:
        return _Row(_sort_name(resource), _row(resource, inline=inline))

    def ordered(rows: Iterable[_Row]) -> _Rows:
        return _Rows(tuple(sorted(rows, key=lambda row: row.name)))

    if inputs.memory is None:
        return ordered(map(row, resources))
    row_memo = inputs.memory.memo(_Row)
    return inputs.memory.memo(_Rows).recall(
        lambda: ordered(
            row_memo.recall(lambda compared=resource: row(compared), resource) for resource in resources
        ),
        resources,
    )


def _row(resource: ComparedResource, *, inline: bool) -> Object:
    row: Object = {
        "group": resource.ref.group,
        "version": resource.ref.version,
        "kind": resource.ref.kind,
        "namespace": resource.ref.namespace,
        "name": resource.ref.name,
        "status": str(resource.sync or ""),
        "hook": resource.hook,
        "requiresPruning": resource.requires_pruning,
        "requiresDeletionConfirmation": resource.requires_deletion_confirmation,
        "syncWave": resource.sync_wave,
    }
    if inline and resource.health is not None:
        health = {"status": str(resource.health.code or ""), "message": resource.health.message}
        row["health"] = {key: value for key, value in health.items() if value}
    return {key: value for key, value in row.items() if value}  # `omitempty`


def _sort_name(resource: ComparedResource) -> str:
    return f"{resource.ref.group}/{resource.ref.kind}/{resource.ref.namespace}/{resource.ref.name}"


def _without(tree: Object, *names: str) -> Object:
    return {key: value for key, value in tree.items() if key not in names}


def set_conditions(
    existing: Iterable[Condition], incoming: Iterable[Condition], evaluated: Collection[str], now: datetime
) -> tuple[Condition, ...]:
    """Evaluated types are replaced, others stay; an unchanged message keeps its time.

    Mirrors `ApplicationStatus.SetConditions`, Argo CD 3.6.
    """
    before = tuple(existing)
    conditions = [_timed(condition, now) for condition in before if condition.type not in evaluated]
    for condition in incoming:
        # upstream only considers the first condition of the type
        old = next((previous for previous in before if previous.type == condition.type), None)
        same = old is not None and old.message == condition.message
        conditions.append(old if same and old is not None else _timed(condition, now))
    return tuple(
        sorted(
            conditions,
            key=lambda condition: (condition.type, condition.message, str(condition.last_transition_time)),
        )
    )


def _timed(condition: Condition, now: datetime) -> Condition:
    if condition.last_transition_time is not None:
        return condition
    return msgspec.structs.replace(condition, last_transition_time=now)

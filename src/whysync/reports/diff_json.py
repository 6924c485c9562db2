"""`diff -o json`, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from whysync.argocd.compare.ignored_fields import IdleRule, IgnoredField
from whysync.argocd.diff.changes import FieldChange
from whysync.json_tree import Json, Missing, Object
from whysync.kubernetes.field_writers import Writer
from whysync.reports.app_diff import AppDiff, ChangedField, ResourceDiff, State
from whysync.reports.diff_text import unified_lines


def as_object(apps: Sequence[AppDiff]) -> Object:
    return {"version": 1, "apps": [_app(app) for app in apps]}


def _app(app: AppDiff) -> Object:
    comparison = app.comparison
    status = app.case.app.status
    return {
        "name": app.case.app.name,
        "namespace": app.case.app.namespace,
        "differs": app.differs,
        "problem": app.problem or app.settings_problem or None,
        "sync": str(comparison.sync) if comparison else None,
        "health": str(comparison.health.code) if comparison and comparison.health else None,
        "argocd": {"sync": status.sync.status, "health": status.health.status},
        "strategy": str(comparison.strategy) if comparison else None,
        "notes": list(comparison.notes) if comparison else [],
        "conditions": [
            {"type": condition.type, "message": condition.message} for condition in comparison.conditions
        ]
        if comparison
        else [],
        "resources": [_resource(resource) for resource in app.resources],
        "idleRules": [_idle(idle_rule) for idle_rule in app.idle_rules],
    }


def _resource(resource: ResourceDiff) -> Object:
    ref, diff = resource.resource.ref, resource.resource.diff
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "state": str(resource.state),
        "sync": str(resource.resource.sync) if resource.resource.sync else None,
        "argocdSync": resource.argocd_sync or None,
        "disagreement": resource.disagreement or None,
        "strategy": str(resource.resource.strategy),
        "way": diff.way if diff else None,
        "hook": resource.resource.hook,
        "requiresPruning": resource.resource.requires_pruning,
        "error": resource.resource.error or None,
        "changes": [_changed(field) for field in resource.fields],
        "ignored": [_ignored(field) for field in resource.ignored],
        "diff": "\n".join(unified_lines(resource)) if resource.state is not State.EQUAL else "",
    }


def _change(change: FieldChange) -> Object:
    """A side that has no such field has no entry."""
    sides: dict[str, Json | Missing] = {"desired": change.desired, "live": change.live}
    values: Object = {name: value for name, value in sides.items() if not isinstance(value, Missing)}
    return {"pointer": change.pointer, "path": change.path, "kind": str(change.kind), **values}


def _changed(field: ChangedField) -> Object:
    return {
        **_change(field.change),
        "standing": str(field.ownership.standing),
        "writers": [_writer(writer) for writer in field.ownership.writers],
    }


def _ignored(field: IgnoredField) -> Object:
    rule = field.rule.origin if field.rule else None
    return {**_change(field.change), "rule": rule, "selector": field.selector}


def _idle(idle: IdleRule) -> Object:
    return {"rule": idle.rule.origin, "why": idle.why, "suggestion": idle.suggestion or None}


def _writer(writer: Writer) -> Object:
    return {
        "manager": writer.manager,
        "operation": writer.operation,
        "subresource": writer.subresource,
        "time": _time(writer.time),
        "kind": str(writer.kind),
    }


def _time(instant: datetime | None) -> str | None:
    return instant.isoformat().replace("+00:00", "Z") if instant else None

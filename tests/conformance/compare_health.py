"""The questions of compare.jsonl that are about an Application's health: a check for each `op`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.argocd.health.app_health import app_health
from tests.conformance.checks import lacks_fragments, mismatch
from whysync.argocd.health.application import ManagedPair, health_causes, health_status
from whysync.argocd.settings import ResourceOverride
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.ref import Key

_NOW: Final = "2026-01-02T03:04:05Z"


def _app_health(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    pairs = [
        ManagedPair(key=_key(row), target=_object(row.get("target")), live=_object(row.get("live")))
        for row in map(fields, items(record.get("resources")))
    ]
    health = app_health(pairs, _overrides(record))
    failures = mismatch("app_health", expect.get("app_health"), str(health.code))
    if "causes" in expect:
        failures += mismatch("causes", expect["causes"], health.message)
    if "resource_health" in expect:
        rows: list[Json] = [None if row is None else str(row.code) for row in health.rows]
        failures += mismatch("resource_health", expect["resource_health"], rows)
    return failures


def _format_health_causes(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    result = health_causes(_key(fields(cause)) for cause in items(record.get("causes")))
    failures: list[str] = []
    if "text" in expect:
        failures += mismatch("text", expect["text"], result)
    if "text_contains" in expect:
        failures += lacks_fragments("text", expect["text_contains"], result)
    if "shown_count" in expect:
        failures += mismatch("shown_count", expect["shown_count"], result.count(":"))
    return failures


def _health_transition(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    before = fields(fields(fields(record.get("app")).get("status")).get("health"))
    pairs = [
        ManagedPair(key=_key(fields(live.get("key"))), target=None, live=fields(live.get("object")))
        for live in map(fields, items(record.get("lives")))
    ]
    persisted = record.get("persist_resource_health") is True
    after = health_status(before, app_health(pairs, _overrides(record)), persisted=persisted, now=_NOW)
    changed = after.get("lastTransitionTime") != before.get("lastTransitionTime")
    return [
        *mismatch("app_health", expect.get("app_health"), after.get("status")),
        *mismatch("message", expect.get("message", ""), after.get("message", "")),
        *mismatch("last_transition_time_changed", expect.get("last_transition_time_changed"), changed),
    ]


def _key(row: Object) -> Key:
    return Key(*(text(row.get(field)) for field in ("group", "kind", "namespace", "name")))


def _object(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def _overrides(record: Object) -> dict[str, ResourceOverride]:
    scripts = fields(record.get("health_lua"))
    return {key: ResourceOverride(health_lua=text(script)) for key, script in scripts.items()}


CHECKS: Final[dict[str, Callable[[Object], list[str]]]] = {
    "app-health": _app_health,
    "format-health-causes": _format_health_causes,
    "health-transition": _health_transition,
}

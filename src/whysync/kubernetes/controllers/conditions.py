"""Conditions in a status, and times as objects carry them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from whysync.json_tree import Json, Object, fields, items, text


@lru_cache(maxsize=4096)
def instant(stamp: str) -> datetime | None:
    """A time such as `2026-01-01T00:00:00Z`; `None` where it is none."""
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_LONGEST: Final = 18


def after(when: datetime, seconds: float) -> datetime:
    """So much later; the end of the calendar where that is beyond it."""
    try:
        return when + timedelta(seconds=seconds)
    except OverflowError:
        return _NEVER


def whole(written: str) -> int | None:
    """A number without a sign, as annotations and names carry it."""
    return int(written) if written.isascii() and written.isdecimal() and len(written) <= _LONGEST else None


def stamped(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions_of(obj: Object) -> list[Json]:
    return items(fields(obj.get("status")).get("conditions"))


def condition(conditions: list[Json], kind: str) -> Object:
    """The condition of that type; empty where there is none."""
    for raw in conditions:
        candidate = fields(raw)
        if candidate.get("type") == kind:
            return candidate
    return {}


def is_true(conditions: list[Json], kind: str) -> bool:
    return condition(conditions, kind).get("status") == "True"


def without(conditions: list[Json], kind: str) -> list[Json]:
    return [entry for entry in conditions if fields(entry).get("type") != kind]


def set_condition(conditions: list[Json], new: Object) -> list[Json]:
    """Nothing changes where status and reason are as before; the time of the last turn stays with the status.

    Mirrors `SetDeploymentCondition`, Kubernetes 1.36. The new one goes to the end.
    """
    kind = text(new.get("type"))
    before = condition(conditions, kind)
    if before and before.get("status") == new.get("status") and before.get("reason") == new.get("reason"):
        return conditions
    if before.get("status") == new.get("status") and "lastTransitionTime" in before:
        new = {**new, "lastTransitionTime": before["lastTransitionTime"]}
    return [*without(conditions, kind), new]

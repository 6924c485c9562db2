"""Conditions of a status, timestamps, and unsigned numbers in annotations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from whysync.json_tree import Json, Object, fields, items, text


@lru_cache(maxsize=4096)
def parse_time(stamp: str) -> datetime | None:
    """Parses a timestamp such as `2026-01-01T00:00:00Z`; `None` if it is not one."""
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


_END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)
_MAX_DIGITS: Final = 18


def add_seconds(when: datetime, seconds: float) -> datetime:
    """The time after a delay, limited to the largest `datetime`."""
    try:
        return when + timedelta(seconds=seconds)
    except OverflowError:
        return _END_OF_TIME


def parse_unsigned(written: str) -> int | None:
    """An unsigned number in an annotation or name; `None` if the text is not one."""
    return int(written) if written.isascii() and written.isdecimal() and len(written) <= _MAX_DIGITS else None


def format_time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions_of(obj: Object) -> list[Json]:
    return items(fields(obj.get("status")).get("conditions"))


def condition(conditions: list[Json], kind: str) -> Object:
    """The condition of that type; empty if there is none."""
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
    """Mirrors `SetDeploymentCondition`, Kubernetes 1.36.

    A condition with unchanged status and reason stays as it is. With an unchanged status,
    lastTransitionTime stays. A changed condition moves to the end.
    """
    kind = text(new.get("type"))
    current = condition(conditions, kind)
    if current and current.get("status") == new.get("status") and current.get("reason") == new.get("reason"):
        return conditions
    if current.get("status") == new.get("status") and "lastTransitionTime" in current:
        new = {**new, "lastTransitionTime": current["lastTransitionTime"]}
    return [*without(conditions, kind), new]

"""Timestamps in objects, and ages as text."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from whysync.json_tree import Json, Missing, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def instant(value: Json | Missing) -> datetime | None:
    """Parses a timestamp; `None` if it is invalid or has no time zone."""
    try:
        time = datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def age_at(case: Case, manifest: Manifest | None, pointer: str) -> timedelta | None:
    """The age of the timestamp at that pointer."""
    return case.age(instant(manifest.at(pointer))) if manifest is not None else None


def age_text(age: timedelta | None) -> str:
    """An age that is exact enough: `40 s`, `12 min`, `2 h 50 min`, `30 h`, `2 days`."""
    if age is None:
        return "an unknown time"
    if age.total_seconds() < 60:
        return f"{max(0, int(age.total_seconds()))} s"
    total = max(0, int(age.total_seconds()) // 60)
    if total < 120:
        return f"{total} min"
    if total < 720 and total % 60:
        return f"{total // 60} h {total % 60} min"
    return f"{total // 60} h" if total < 2880 else f"{total // 1440} days"

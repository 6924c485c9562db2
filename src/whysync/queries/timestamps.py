"""Instants that stand in objects as text: read where they can be trusted, else not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from whysync.json_tree import Json, Missing, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def instant(value: Json | Missing) -> datetime | None:
    """`None` for what is no instant, or does not tell its time zone."""
    try:
        when = datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return when if when.tzinfo is not None else None


def age_at(case: Case, manifest: Manifest | None, pointer: str) -> timedelta | None:
    """How long ago the instant at that pointer was."""
    return case.age(instant(manifest.at(pointer))) if manifest is not None else None

"""The history of deployments. Mirrors `persistRevisionHistory`, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

DEFAULT_LIMIT = 10


def kept_history(entries: Sequence[T], limit: int | None = None) -> tuple[T, ...]:
    """The last so many; `limit` is `spec.revisionHistoryLimit`, and zero keeps nothing."""
    most = DEFAULT_LIMIT if limit is None else max(limit, 0)
    return tuple(entries[len(entries) - most :]) if len(entries) > most else tuple(entries)


def next_id(last: int | None) -> int:
    return 0 if last is None else last + 1

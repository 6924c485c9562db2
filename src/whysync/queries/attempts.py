"""How often Argo CD tried the last sync, and how often it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

CHANCE: Final = 2
"""More failures in a row than this are not chance."""


def attempts(case: Case) -> int:
    """Attempts of the last sync: the first one and its retries."""
    return case.operation.retry_count + 1 if case.operation is not None else 1


def retries_set(case: Case) -> bool:
    """Does the Application or the last sync retry by itself? An automated sync does, by default."""
    operation = case.operation.operation if case.operation is not None else None
    return case.app.spec.sync_policy.retry is not None or (
        operation is not None and operation.retry is not None and operation.retry.limit != 0
    )


def waits_for_retry(case: Case) -> bool:
    """Has the sync failed, and does Argo CD try it again by itself? It stays Running until then."""
    operation = case.operation
    return (
        operation is not None
        and operation.phase == "Running"
        and operation.retry_count > 0
        and operation.finished_at is not None
    )

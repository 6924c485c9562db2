"""Whether the app's status is current: overdue reconciliations, skipped apps, failing ApplicationSets, sync
loops.

Argo CD reconciles every app after `timeout.reconciliation` (120 s) plus up to 60 s of jitter, and writes
`reconciledAt` each time. Its age is known only if the facts have the time of collection.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.rule import Fact
from whysync.golang.regexp import matches_any
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

SKIP_RECONCILE = "argocd.argoproj.io/skip-reconcile"
REFRESH = "argocd.argoproj.io/refresh"
# Go's `strconv.ParseBool`
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_OVERDUE_INTERVALS = 10
_FIRST_RECONCILIATION = timedelta(minutes=10)
_MIN_OVERDUE = timedelta(hours=1)
# The interval may be hours; without Argo CD's settings, only a day is certainly too long.
_MIN_OVERDUE_WITHOUT_SETTINGS = timedelta(hours=24)
_MIN_SELF_HEAL_ATTEMPTS = 3
_MIN_REPEATED_SYNCS = 4
_MAX_LOOP_PERIOD = timedelta(hours=1)
_REGULAR = 2
"""The longest time between two syncs of a regular loop, as a multiple of the shortest."""


def skips_reconcile(case: Case) -> bool:
    """Is the annotation `skip-reconcile` set?"""
    return text(case.application.annotations.get(SKIP_RECONCILE)) in _TRUE


def overdue(case: Case) -> timedelta | None:
    """The time since the last reconciliation, if it is much longer than the interval.

    The controller removes a refresh annotation within seconds: if it is still there and the next
    reconciliation is minutes late, no controller reconciles the app.
    """
    if case.index.snapshot.collected_at is None or case.argocd.reconciliation_seconds <= 0:
        return None
    age = case.age(case.app.status.reconciled_at)
    interval = timedelta(
        seconds=case.argocd.reconciliation_seconds + case.argocd.reconciliation_jitter_seconds
    )
    min_age = max(
        _MIN_OVERDUE if case.has(Fact.SETTINGS) else _MIN_OVERDUE_WITHOUT_SETTINGS,
        _OVERDUE_INTERVALS * interval,
    )
    if REFRESH in case.application.annotations:
        min_age = interval + _FIRST_RECONCILIATION
    return age if age is not None and age > min_age else None


def is_compared(case: Case) -> bool:
    """Does Argo CD compare the app at its usual interval?"""
    return bool(case.app.status.reconciled_at) and overdue(case) is None


def never_reconciled(case: Case) -> timedelta | None:
    """How long the app has existed without a status: its controller would write one within seconds."""
    status = case.app.status
    if status.reconciled_at or status.sync.status or status.conditions or status.operation_state:
        return None
    age = case.age(case.app.metadata.creation_timestamp)
    return age if age is not None and age >= _FIRST_RECONCILIATION else None


def is_served(case: Case) -> bool | None:
    """Does Argo CD reconcile Applications in this namespace? `None` if its settings are unknown."""
    settings, params = case.settings("argocd-cm"), case.settings("argocd-cmd-params-cm")
    own = next((known.ref.namespace for known in (settings, params) if known is not None), "")
    if case.app.namespace in (own, case.app.status.controller_namespace):
        return True
    if params is None:
        return None
    return matches_any(case.argocd.application_namespaces, case.app.namespace)


class ApplicationSetError(msgspec.Struct, frozen=True, kw_only=True):
    """The error condition of an ApplicationSet, at `pointer`."""

    manifest: Manifest
    pointer: str
    reason: str
    message: str


def failing_application_set(case: Case) -> ApplicationSetError | None:
    """The error of the ApplicationSet that owns the app, if it is available and has one."""
    for owner in case.app.metadata.owner_references:
        if owner.kind != "ApplicationSet":
            continue
        manifest = case.live_named("ApplicationSet", case.app.namespace, owner.name)
        if manifest is not None and (error := error_of_set(manifest)) is not None:
            return error
    return None


def error_of_set(manifest: Manifest) -> ApplicationSetError | None:
    """The error that an ApplicationSet reports, if it has one."""
    for index, condition in enumerate(map(fields, items(manifest.status.get("conditions")))):
        if condition.get("type") == "ErrorOccurred" and condition.get("status") == "True":
            return ApplicationSetError(
                manifest=manifest,
                pointer=f"/status/conditions/{index}",
                reason=text(condition.get("reason")),
                message=text(condition.get("message")),
            )
    return None


class SyncLoop(msgspec.Struct, frozen=True, kw_only=True):
    """Repeated syncs of one commit, shown at `pointer`.

    `period` is the time between two, if it is regular: the back-off of self-heal makes it grow.
    """

    times: int
    pointer: str
    period: timedelta | None = None


def sync_loop_of(case: Case) -> SyncLoop | None:
    """A sync loop: by the count of self-heal attempts, or by one commit repeated in the history."""
    operation = case.operation
    ended = case.age(operation.finished_at) if operation is not None else None
    if not case.self_heals or ended is None or ended > _MAX_LOOP_PERIOD:
        return None  # the last sync was too long ago
    sync = operation.operation.sync if operation is not None else None
    healed = sync is not None and operation is not None and operation.phase == "Succeeded"
    if sync is not None and healed and sync.auto_heal_attempts_count >= _MIN_SELF_HEAL_ATTEMPTS:
        return SyncLoop(
            times=sync.auto_heal_attempts_count + 1,  # the first sync is not an attempt to heal
            pointer="/status/operationState/operation/sync/autoHealAttemptsCount",
            period=_period(case),
        )
    repeated = _repeated_syncs(case)
    if len(repeated) >= _MIN_REPEATED_SYNCS and _average(repeated) <= _MAX_LOOP_PERIOD:
        return SyncLoop(times=len(repeated), pointer="/status/history", period=_period(case))
    return None


def _repeated_syncs(case: Case) -> list[float]:
    """The times of consecutive automated syncs of the newest commit in the history, oldest first."""
    history = case.app.status.history
    newest = (history[-1].revision, history[-1].revisions) if history else None
    times: list[float] = []
    for entry in reversed(history):
        if (entry.revision, entry.revisions) != newest or entry.deployed_at is None:
            break
        if not entry.initiated_by.automated:
            break
        times.append(entry.deployed_at.timestamp())
    return times[::-1]


def _average(times: list[float]) -> timedelta:
    return timedelta(seconds=(times[-1] - times[0]) / (len(times) - 1))


def _period(case: Case) -> timedelta | None:
    """The average time between two syncs; `None` if the times between them differ much."""
    times = _repeated_syncs(case)
    between = [later - earlier for earlier, later in pairwise(times)]
    if not between or max(between) > _REGULAR * max(min(between), 1):
        return None
    return _average(times)

"""Is what Argo CD says of the app still true? Whether somebody looks at it, and how often it was synced.

Argo CD compares every app anew after `timeout.reconciliation` (120 s) and up to 60 s of jitter, and writes
`reconciledAt` each time. Only an instant at which the facts were taken tells how old that is.
"""

from __future__ import annotations

from datetime import timedelta
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
_FAR = 10
_FIRST_LOOK = timedelta(minutes=10)
_LEAST = timedelta(hours=1)
# The interval may be set to hours; without Argo CD's settings at hand, only a day is surely too long.
_LEAST_UNTOLD = timedelta(hours=24)
_ATTEMPTS = 3
_ROUNDS = 4
_ONE_LOOP = timedelta(hours=1)


def skips_reconcile(case: Case) -> bool:
    """Is the annotation set by which the controller leaves the app alone?"""
    return text(case.application.annotations.get(SKIP_RECONCILE)) in _TRUE


def overdue(case: Case) -> timedelta | None:
    """How long ago the app was last compared, if that is far longer than the interval explains.

    The controller takes up a refresh annotation within seconds and removes it: one that is still there when
    the next comparison is minutes late shows that nobody compares.
    """
    if case.index.snapshot.collected_at is None or case.argocd.reconciliation_seconds <= 0:
        return None
    age = case.age(case.app.status.reconciled_at)
    interval = timedelta(
        seconds=case.argocd.reconciliation_seconds + case.argocd.reconciliation_jitter_seconds
    )
    least = max(_LEAST if case.has(Fact.SETTINGS) else _LEAST_UNTOLD, _FAR * interval)
    if REFRESH in case.application.annotations:
        least = interval + _FIRST_LOOK
    return age if age is not None and age > least else None


def never_reconciled(case: Case) -> timedelta | None:
    """How long the app has been there without a status: a controller that serves it writes one in seconds."""
    status = case.app.status
    if status.reconciled_at or status.sync.status or status.conditions or status.operation_state:
        return None
    age = case.age(case.app.metadata.creation_timestamp)
    return age if age is not None and age >= _FIRST_LOOK else None


def is_served(case: Case) -> bool | None:
    """Does Argo CD serve the Application's own namespace? `None` where its settings do not tell."""
    settings, params = case.settings("argocd-cm"), case.settings("argocd-cmd-params-cm")
    own = next((known.ref.namespace for known in (settings, params) if known is not None), "")
    if case.app.namespace in (own, case.app.status.controller_namespace):
        return True
    if params is None:
        return None
    return matches_any(case.argocd.application_namespaces, case.app.namespace)


class ApplicationSetError(msgspec.Struct, frozen=True, kw_only=True):
    """An ApplicationSet with a condition that says so; `pointer` leads to the condition."""

    manifest: Manifest
    pointer: str
    reason: str
    message: str


def failing_application_set(case: Case) -> ApplicationSetError | None:
    """The ApplicationSet that owns the app, where it is at hand and in trouble."""
    for owner in case.app.metadata.owner_references:
        if owner.kind != "ApplicationSet":
            continue
        manifest = case.live_named("ApplicationSet", case.app.namespace, owner.name)
        for index, raw in enumerate(items(manifest.status.get("conditions")) if manifest else ()):
            condition = fields(raw)
            if manifest is not None and condition.get("type") == "ErrorOccurred":
                if condition.get("status") != "True":
                    continue
                return ApplicationSetError(
                    manifest=manifest,
                    pointer=f"/status/conditions/{index}",
                    reason=text(condition.get("reason")),
                    message=text(condition.get("message")),
                )
    return None


class SyncLoop(msgspec.Struct, frozen=True, kw_only=True):
    """So many syncs to one commit; `pointer` leads to what tells it, `period` is the time between two."""

    times: int
    pointer: str
    period: timedelta | None = None


def sync_loop_of(case: Case) -> SyncLoop | None:
    """Self-heal counts its attempts; else the history shows one commit deployed again and again."""
    operation = case.operation
    ended = case.age(operation.finished_at) if operation is not None else None
    if not case.self_heals or ended is None or ended > _ONE_LOOP:
        return None  # it was long ago: the fight is over
    sync = operation.operation.sync if operation is not None else None
    healed = sync is not None and operation is not None and operation.phase == "Succeeded"
    if sync is not None and healed and sync.auto_heal_attempts_count >= _ATTEMPTS:
        return SyncLoop(
            times=sync.auto_heal_attempts_count,
            pointer="/status/operationState/operation/sync/autoHealAttemptsCount",
            period=_period(case),
        )
    rounds = _rounds(case)
    period = _period(case)
    if len(rounds) >= _ROUNDS and period is not None and period <= _ONE_LOOP:
        return SyncLoop(times=len(rounds), pointer="/status/history", period=period)
    return None


def _rounds(case: Case) -> list[float]:
    """When the newest commit of the history was deployed, each time; oldest first."""
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


def _period(case: Case) -> timedelta | None:
    times = _rounds(case)
    return timedelta(seconds=(times[-1] - times[0]) / (len(times) - 1)) if len(times) > 1 else None

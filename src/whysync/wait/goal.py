"""The state that `whysync wait` waits for, and how far an app is from it; the clock is in the loop."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.argocd.api.application import HealthCode, SyncCode
from whysync.diagnosis.case import Case
from whysync.json_tree import fields
from whysync.reports.terminal import one_line

_FAILED = ("Failed", "Error")


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The state to wait for; `revision` is a commit or its beginning, or empty for any."""

    sync: bool = True
    health: bool = True
    operation: bool = True
    revision: str = ""

    def __str__(self) -> str:
        states = {"Synced": self.sync, "Healthy": self.health, "no operation running": self.operation}
        conditions = ", ".join(state for state, required in states.items() if required)
        return f"{conditions} at {self.revision[:12]}" if self.revision else conditions


class WaitState(StrEnum):
    """Where an app is relative to the goal."""

    DONE = "done"
    PROGRESSING = "progressing"
    UNHEALTHY = "unhealthy"
    """Degraded or not comparable: possibly temporary, but rarely."""
    FAILED = "failed"


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """How far an app is from its goal; `missing` describes it, and is empty when the goal is reached."""

    state: WaitState
    missing: tuple[str, ...] = ()
    stale: bool = False
    """Only a comparison after the sync is missing."""


def distance(case: Case, goal: Goal) -> Distance:
    missing = tuple(_missing(case, goal))
    if not missing:
        if not _is_stale(case):
            return Distance(state=WaitState.DONE)
        missing_text = "Argo CD has not compared it since the sync ended"
        return Distance(state=_state_of(case, goal), missing=(missing_text,), stale=True)
    return Distance(state=_state_of(case, goal), missing=missing)


def _state_of(case: Case, goal: Goal) -> WaitState:
    if _has_failed(case, goal):
        return WaitState.FAILED
    unhealthy = (goal.health and case.app.status.health.status == HealthCode.DEGRADED) or (
        goal.sync and case.app.status.sync.status == SyncCode.UNKNOWN
    )
    return WaitState.UNHEALTHY if unhealthy and not is_busy(case) else WaitState.PROGRESSING


def is_busy(case: Case) -> bool:
    """Is an operation requested, running, or waiting for its next retry?"""
    state = case.operation
    running = state is not None and state.phase in ("Running", "Terminating")
    return running or bool(fields(case.application.body.get("operation")))


def _missing(case: Case, goal: Goal) -> list[str]:
    status, state = case.app.status, case.operation
    missing: list[str] = []
    if goal.operation and is_busy(case):
        message = one_line(state.message) if state is not None and state.phase == "Running" else ""
        missing.append("an operation is running" + (f": {message}" if message else ""))
    if (
        goal.operation
        and not is_busy(case)
        and state is not None
        and state.phase in _FAILED
        and not _is_synced(case)
    ):
        missing.append(f"the last sync {'failed' if state.phase == 'Failed' else 'ended in an error'}")
    if goal.sync and status.sync.status != SyncCode.SYNCED:
        missing.append(f"it is {status.sync.status or 'not compared'}, not Synced")
    if goal.health and status.health.status != HealthCode.HEALTHY:
        missing.append(f"it is {status.health.status or 'of unknown health'}, not Healthy")
    if goal.revision and not _is_at(case, goal):
        missing.append(f"it is at {_short(_revisions(case)) or 'no commit'}, not at {goal.revision[:12]}")
    return missing


def _is_synced(case: Case) -> bool:
    """Did an earlier sync fail whose changes are in the cluster nevertheless?"""
    return case.app.status.sync.status == SyncCode.SYNCED


def _has_failed(case: Case, goal: Goal) -> bool:
    """Did a sync of the requested commit fail that will not be retried?"""
    state = case.operation
    if state is None or state.phase not in _FAILED or is_busy(case) or not (goal.sync or goal.operation):
        return False
    if _is_synced(case):
        return False
    return not goal.revision or any(
        _has_prefix(synced_revision, goal.revision) for synced_revision in _synced_revisions(case)
    )


def _is_at(case: Case, goal: Goal) -> bool:
    """Is the app at this commit? Without a difference there is no sync, so the comparison decides."""
    revisions = _revisions(case) if goal.sync or not goal.operation else _synced_revisions(case)
    return any(_has_prefix(revision, goal.revision) for revision in revisions)


def _revisions(case: Case) -> tuple[str, ...]:
    sync = case.app.status.sync
    return (sync.revision, *sync.revisions) if sync.revision else sync.revisions


def _synced_revisions(case: Case) -> tuple[str, ...]:
    state = case.operation
    revisions: list[str] = []
    if state is not None and state.sync_result is not None:
        revisions += [state.sync_result.revision, *state.sync_result.revisions]
    if state is not None and state.operation.sync is not None:
        revisions += [state.operation.sync.revision, *state.operation.sync.revisions]
    return tuple(revision for revision in revisions if revision)


def _has_prefix(revision: str, prefix: str) -> bool:
    return bool(revision) and revision.lower().startswith(prefix.lower())


def _short(revisions: tuple[str, ...]) -> str:
    return ", ".join(revision[:12] for revision in revisions)


def _is_stale(case: Case) -> bool:
    """Mirrors `argocd app wait`, Argo CD 3.6: a status that is older than the sync does not count."""
    state, compared_at = case.operation, case.app.status.reconciled_at
    ended_at = state.finished_at if state is not None else None
    return ended_at is not None and compared_at is not None and compared_at < ended_at

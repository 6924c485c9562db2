"""The state of an operation between two steps: starting, retrying, timing out, ending.

Mirrors `processRequestedAppOperation`, Argo CD 3.6, except for the sync step itself: `begin` is the part
before the step, `conclude` the part after it. A sync that waits for its next attempt has phase Running and
a `finishedAt`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum

import msgspec

from whysync.argocd.api.application import Operation, OperationState, Phase
from whysync.argocd.app_controller.auto_sync import COMPLETED
from whysync.argocd.sync.retry import BadBackoff, may_retry, next_retry_at

_TIMEOUT = "controller sync timeout"


class CompareWith(IntEnum):
    """The level of a refresh, in increasing order."""

    ComparisonWithNothing = 0
    CompareWithRecent = 1
    CompareWithLatest = 2
    CompareWithLatestForceResolve = 3


class Start(StrEnum):
    """How the controller continues an operation."""

    NEW = "new"
    RESUMED = "resumed"
    RETRIED = "retried"
    TIMED_OUT = "timed-out"
    WAITING = "waiting"
    """The time of the next attempt has not come."""
    BAD_BACKOFF = "bad-backoff"

    @property
    def steps(self) -> bool:
        """Is the sync step executed?"""
        return self not in (Start.WAITING, Start.BAD_BACKOFF)


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    start: Start
    state: OperationState
    retry_at: datetime | None = None

    @property
    def is_terminating(self) -> bool:
        return self.state.phase == Phase.TERMINATING


class Concluded(msgspec.Struct, frozen=True, kw_only=True):
    state: OperationState
    refresh: CompareWith | None
    """The refresh to request when the operation has ended."""


def begin(
    operation: Operation, state: OperationState | None, now: datetime, *, timeout: timedelta = timedelta()
) -> Begun:
    if state is None or state.phase in COMPLETED:
        fresh = OperationState(operation=operation, phase=Phase.RUNNING.value, started_at=now)
        return Begun(start=Start.NEW, state=fresh)
    if state.phase == Phase.TERMINATING:
        return Begun(start=Start.RESUMED, state=state)
    if timeout and state.started_at is not None and now - state.started_at > timeout:
        message = "operation is terminating due to timeout"
        ending = msgspec.structs.replace(state, phase=Phase.TERMINATING.value, message=message)
        return Begun(start=Start.TIMED_OUT, state=ending)
    if state.phase == Phase.RUNNING and state.finished_at is not None:
        return _retried(state, state.finished_at, now)
    return Begun(start=Start.RESUMED, state=state)


def _retried(state: OperationState, finished_at: datetime, now: datetime) -> Begun:
    operation = state.operation
    try:
        retry_at = next_retry_at(operation.retry, finished_at, state.retry_count)
    except BadBackoff as problem:
        failed = msgspec.structs.replace(
            state, phase=Phase.ERROR.value, message=str(problem), finished_at=now
        )
        return Begun(start=Start.BAD_BACKOFF, state=failed)
    if retry_at > now:
        return Begun(start=Start.WAITING, state=state, retry_at=retry_at)
    latest = ""
    if operation.retry is not None and operation.retry.refresh and operation.sync is not None:
        latest = " with latest revisions"
        sync = msgspec.structs.replace(operation.sync, revision="", revisions=())
        operation = msgspec.structs.replace(operation, sync=sync)
    restarted = msgspec.structs.replace(
        state,
        operation=operation,
        message=f"Retrying operation{latest}. Attempt #{state.retry_count}",
        finished_at=None,
        sync_result=None,
    )
    return Begun(start=Start.RETRIED, state=restarted)


def conclude(begun: Begun, state: OperationState, now: datetime) -> Concluded:
    """`state` is the result of the sync step on `begun.state`."""
    failed = state.phase in (Phase.FAILED, Phase.ERROR)
    if failed and not begun.is_terminating and may_retry(state.operation.retry, state.retry_count):
        state = _scheduled(state, now)
    elif failed:
        if begun.start is Start.TIMED_OUT:
            state = _with_message(state, f"{state.message}, triggered by {_TIMEOUT}")
        if state.retry_count > 0:
            state = _with_message(state, f"{state.message} (retried {state.retry_count} times).")
    if state.phase not in COMPLETED:
        return Concluded(state=state, refresh=None)
    state = msgspec.structs.replace(state, finished_at=now)
    sync = state.operation.sync
    if sync is None or sync.dry_run:
        return Concluded(state=state, refresh=None)
    automated = state.operation.initiated_by.automated
    deepest = CompareWith.CompareWithLatestForceResolve
    return Concluded(state=state, refresh=CompareWith.CompareWithLatest if automated else deepest)


def _scheduled(state: OperationState, now: datetime) -> OperationState:
    try:
        retry_at = next_retry_at(state.operation.retry, now, state.retry_count)
    except BadBackoff as problem:
        message = f"{state.message} (failed to retry: {problem})"
        return msgspec.structs.replace(state, phase=Phase.ERROR.value, message=message)
    count = state.retry_count + 1
    return msgspec.structs.replace(
        state,
        phase=Phase.RUNNING.value,
        finished_at=now,
        retry_count=count,
        message=f"{state.message}. Retrying attempt #{count} at {_kitchen(retry_at)}.",
    )


def _with_message(state: OperationState, message: str) -> OperationState:
    return msgspec.structs.replace(state, message=message)


def _kitchen(moment: datetime) -> str:
    """Go's `time.Kitchen` format, `3:04PM`, for a controller in UTC."""
    local = moment.astimezone(UTC)
    return f"{local.hour % 12 or 12}:{local.minute:02}{'PM' if local.hour >= 12 else 'AM'}"

"""One pass over an operation: started, retried, timed out or completed.

`app_controller/operation_state.py` decides on decoded values; here its decisions are written into the raw
`operationState`, which has fields that the decoded one lacks (parameters of sources, strategies). Mirrors
`processRequestedAppOperation`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from whysync.argocd.api.application import Operation, OperationState
from whysync.argocd.app_controller.operation_state import Begun, CompareWith, Start, begin, conclude
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.sync.sync_app_types import SyncPass
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.decode import decode


class Processed(msgspec.Struct, frozen=True, kw_only=True):
    operation_state: Object
    start: Start
    sync_pass: SyncPass | None = None
    """`None` if no sync step was run."""
    refresh: CompareWith | None = None
    """The refresh to request when the operation has ended."""
    retry_at: datetime | None = None


def process(
    operation: Object,
    state: Object | None,
    sync: Callable[[Object], SyncPass],
    *,
    now: datetime,
    timeout: timedelta = timedelta(),
) -> Processed:
    """`operation` and `state` are the Application's `operation` and `status.operationState`."""
    decoded_state = decode(state, OperationState)[0] if state is not None else None
    decoded_operation = decode(operation, Operation)[0] or Operation()
    begun = begin(decoded_operation, decoded_state, now, timeout=timeout)
    raw = _begun(operation, state or {}, begun)
    if not begun.start.steps:
        return Processed(operation_state=raw, start=begun.start, retry_at=begun.retry_at)
    sync_pass = sync(raw)
    next_state = decode(sync_pass.operation_state, OperationState)[0] or OperationState()
    concluded = conclude(begun, next_state, now)
    return Processed(
        operation_state=_with_state(sync_pass.operation_state, concluded.state),
        start=begun.start,
        sync_pass=sync_pass,
        refresh=concluded.refresh,
    )


def _begun(operation: Object, state: Object, begun: Begun) -> Object:
    if begun.start is Start.NEW:
        return _with_state({"operation": operation}, begun.state)
    raw = _with_state(state, begun.state)
    if begun.start is Start.RETRIED:
        raw.pop("syncResult", None)  # a retry starts from the beginning, with a dry run
        sync = begun.state.operation.sync
        if sync is not None and not sync.revision and not sync.revisions:
            raw["operation"] = _without_revisions(fields(raw.get("operation")))
    return raw


def _without_revisions(operation: Object) -> Object:
    """So that the newest commit is synced."""
    sync = fields(operation.get("sync"))
    remaining: Object = {key: value for key, value in sync.items() if key not in ("revision", "revisions")}
    return {**operation, "sync": remaining}


def _with_state(raw: Object, state: OperationState) -> Object:
    """The raw state with the fields of the decoded one."""
    after: Object = {**raw, "phase": state.phase, "message": state.message}
    if state.started_at is not None:
        after["startedAt"] = go_time(state.started_at)
    if state.finished_at is None:
        after.pop("finishedAt", None)
    else:
        after["finishedAt"] = go_time(state.finished_at)
    if state.retry_count:
        after["retryCount"] = state.retry_count
    return after

"""Runs the next step of an operation and writes the operation state.

Mirrors `processAppOperationQueueItem` and `setOperationState`, Argo CD 3.6. After a step that changed
something the next follows at once; otherwise after 30 seconds, or 5 seconds after an object of the app has
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from whysync.argocd.api.application import Application, Operation, OperationState
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.auto_sync import COMPLETED
from whysync.argocd.app_controller.compare_app import CompareTarget
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.deletion.finalize_app import AppFinalizer
from whysync.argocd.app_controller.operation_state import Begun, CompareWith, Start, begin, conclude
from whysync.argocd.app_controller.refresh import Refresher
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.projects import NoCluster
from whysync.argocd.sync.app_request import AppSync, NotCompared, SyncPass, SyncTarget
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.argocd.sync.sync_app_state import sync_app
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.decode import decode


class OperationProcessor:
    def __init__(self, context: ControllerContext, registry: AppRegistry, refresher: Refresher) -> None:
        self._context = context
        self._registry = registry
        self._refresher = refresher
        self._finalizer = AppFinalizer(context, registry)

    def step(self, name: str) -> bool:
        """True if the Application or its cluster may have changed."""
        app, queue = self._registry.applications[name], self._registry.queues[name]
        queue.operate_at = queue.not_before = None
        if not self._context.can_process_app(app):
            return False
        operation = app.get("operation")
        if not isinstance(operation, dict):
            return bool(dig(app, "metadata", "deletionTimestamp")) and self._finalizer.finalize_app(name)
        context, now = self._context, self._context.clock.now
        state = dig(app, "status", "operationState")
        before = state if isinstance(state, dict) else None
        timeout = context.timings.sync_timeout
        if (
            before is not None
            and before.get("phase") == "Running"
            and before.get("finishedAt") == go_time(now)
        ):
            # The operation has just failed. Nothing takes time here, so a retry without delay would loop.
            queue.enqueue_operation(now + timedelta(seconds=1))
            return False
        if queue.idle_inputs is not None and queue.idle_inputs == self._step_inputs(app):
            # The inputs of the step are the same as for the last one, which changed nothing.
            queue.enqueue_operation(self._next_step_at(before or {}, now, timeout))
            return False
        sync_step = _SyncStep(self, name, app)
        writes_before = self._context.write_count
        result = process(operation, before, sync_step.run, now=now, timeout=timeout)
        queue.enqueue_operation(result.retry_at or self._next_step_at(result.operation_state, now, timeout))
        queue.not_before = sync_step.not_before
        changed = self._write(name, app, result) or self._context.write_count != writes_before
        queue.idle_inputs = None if changed or result.sync_pass is None else self._step_inputs(app)
        if result.refresh is not None:
            queue.request_refresh(result.refresh)
        return changed

    def _step_inputs(self, app: Object) -> tuple[object, ...] | None:
        """Everything that a step depends on; `None` if it also depends on time."""
        typed = decode(app, Application)[0] or Application()
        project = self._context.project_of(typed)
        if self._context.timings.sync_timeout or isinstance(project, str) or project.spec.sync_windows:
            return None
        meta = fields(app.get("metadata"))
        return (
            self._context.write_count,
            *(destination.unreachable for destination in self._context.destinations.values()),
            app.get("spec"),
            app.get("operation"),
            dig(app, "status", "operationState"),
            meta.get("annotations"),
            project,
            self._context.settings,
        )

    def _next_step_at(self, state: Object, now: datetime, timeout: timedelta) -> datetime:
        next_step = now + self._context.timings.step
        started = text(state.get("startedAt"))
        if timeout and started and state.get("phase") != "Terminating":
            # More time than the timeout must have passed, and stored times have a resolution of a second.
            timeout_at = datetime.fromisoformat(started) + timeout + timedelta(seconds=1)
            next_step = min(next_step, max(now, timeout_at))
        return next_step

    def _write(self, name: str, app: Object, result: Processed) -> bool:
        """Writes the operation state; `operation` is removed when the operation has ended."""
        status: Object = {**fields(app.get("status")), "operationState": result.operation_state}
        if result.sync_pass is not None and result.sync_pass.history is not None:
            status["history"] = result.sync_pass.history
        after: Object = {**app, "status": status}
        if result.operation_state.get("phase") in COMPLETED:
            after.pop("operation", None)
        return self._registry.save(name, after)

    # --- used by _SyncStep -----------------------------------------------------------------------

    def compare(self, name: str, app: Object, target_revisions: SyncTarget) -> Comparison:
        target = CompareTarget(
            sources=target_revisions.sources,
            revisions=target_revisions.revisions,
            several=len(target_revisions.sources) > 1,
            fresh=True,
            local=_local_manifests(target_revisions.manifests),
        )
        try:
            return self._refresher.compare(name, app, target, forced=True).comparison
        except NoCluster as problem:
            raise NotCompared(str(problem)) from problem

    @property
    def context(self) -> ControllerContext:
        return self._context


class _SyncStep:
    """The sync step of an operation; `not_before` is the end of the delay after a wave."""

    def __init__(self, processor: OperationProcessor, name: str, app: Object) -> None:
        self._operator = processor
        self._name = name
        self._app = app
        self._all_cluster_ops: list[ClusterOps] = []

    @property
    def not_before(self) -> datetime | None:
        start_times = (getattr(cluster_ops, "not_before", None) for cluster_ops in self._all_cluster_ops)
        return max(
            (start_time for start_time in start_times if isinstance(start_time, datetime)), default=None
        )

    def run(self, state: Object) -> SyncPass:
        processor, context = self._operator, self._operator.context
        typed = decode(self._app, Application)[0] or Application()
        project = context.project_of(typed)
        if isinstance(project, str):
            message = f"Failed to load application project: {project}"
            return SyncPass(operation_state={**state, "phase": "Error", "message": message})
        sync = AppSync(
            application=self._app,
            project=project,
            settings=context.settings,
            clusters=context.clusters,
            compare=lambda target: processor.compare(self._name, self._app, target),
            cluster_ops=lambda user: self._cluster_ops(typed, user),
            now=context.clock.now,
            project_clusters=context.clusters_of(typed.project),
        )
        return sync_app(sync, state)

    def _cluster_ops(self, app: Application, user: str) -> ClusterOps:
        cluster_ops = self._operator.context.cluster_ops(self._operator.context.cluster_of(app).server, user)
        self._all_cluster_ops.append(cluster_ops)
        return cluster_ops


def _local_manifests(manifests: tuple[str, ...]) -> tuple[Object, ...]:
    return tuple(fields(msgspec.json.decode(manifest)) for manifest in manifests)


# One pass over an operation: started, retried, timed out or completed.
#
# `app_controller/operation_state.py` decides on decoded values; here its decisions are written into the raw
# `operationState`, which has fields that the decoded one lacks (parameters of sources, strategies). Mirrors
# `processRequestedAppOperation`, Argo CD 3.6.


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

"""One look at an operation: its next step, and what is written of it.

Mirrors `processAppOperationQueueItem` and `setOperationState`, Argo CD 3.6. A step that changed something is
followed by the next at once; one that did not is repeated after 30 seconds, or 5 seconds after an object of
the app has changed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.auto_sync import COMPLETED
from whysync.argocd.app_controller.compare_app import Aim
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.finalize_app import AppFinalizer
from whysync.argocd.app_controller.refresh import Refresher
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.projects import NoCluster
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.argocd.sync.operation import Processed, process
from whysync.argocd.sync.sync_app import sync_app
from whysync.argocd.sync.sync_pass import AppSync, NotCompared, SyncPass, Wanted
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.decode import decode


class OperationProcessor:
    def __init__(self, context: ControllerContext, registry: AppRegistry, refresher: Refresher) -> None:
        self._context = context
        self._registry = registry
        self._refresher = refresher
        self._undertaker = AppFinalizer(context, registry)

    def step(self, name: str) -> bool:
        """True where the Application or its cluster may have changed."""
        app, record = self._registry.applications[name], self._registry.records[name]
        record.operate_at = record.not_before = None
        if not self._context.looks_after(app):
            return False
        operation = app.get("operation")
        if not isinstance(operation, dict):
            return bool(dig(app, "metadata", "deletionTimestamp")) and self._undertaker.look(name)
        context, now = self._context, self._context.clock.now
        state = dig(app, "status", "operationState")
        before = state if isinstance(state, dict) else None
        timeout = context.timings.sync_timeout
        if (
            before is not None
            and before.get("phase") == "Running"
            and before.get("finishedAt") == go_time(now)
        ):
            # It has just failed. Nothing takes time here, so a retry without a pause would never end.
            record.operate(now + timedelta(seconds=1))
            return False
        if record.idle is not None and record.idle == self._sight(app):
            # Nothing that a step looks at has changed since one that changed nothing.
            record.operate(self._next(before or {}, now, timeout))
            return False
        turn = _Turn(self, name, app)
        written = self._context.writes
        done = process(operation, before, turn.take, now=now, timeout=timeout)
        record.operate(done.retry_at or self._next(done.operation_state, now, timeout))
        record.not_before = turn.not_before
        changed = self._write(name, app, done) or self._context.writes != written
        record.idle = None if changed or done.turn is None else self._sight(app)
        if done.refresh is not None:
            record.ask(done.refresh)
        return changed

    def _sight(self, app: Object) -> tuple[object, ...] | None:
        """Everything that a step depends on; `None` if it also depends on time."""
        typed = decode(app, Application)[0] or Application()
        project = self._context.project_of(typed)
        if self._context.timings.sync_timeout or isinstance(project, str) or project.spec.sync_windows:
            return None
        meta = fields(app.get("metadata"))
        return (
            self._context.writes,
            *(destination.unreachable for destination in self._context.destinations.values()),
            app.get("spec"),
            app.get("operation"),
            dig(app, "status", "operationState"),
            meta.get("annotations"),
            project,
            self._context.settings,
        )

    def _next(self, state: Object, now: datetime, timeout: timedelta) -> datetime:
        following = now + self._context.timings.step
        started = text(state.get("startedAt"))
        if timeout and started and state.get("phase") != "Terminating":
            # More time than that must have passed, and times are kept to the second.
            over = datetime.fromisoformat(started) + timeout + timedelta(seconds=1)
            following = min(following, max(now, over))
        return following

    def _write(self, name: str, app: Object, done: Processed) -> bool:
        """Writes the operation state; `operation` is removed when the operation has ended."""
        status: Object = {**fields(app.get("status")), "operationState": done.operation_state}
        if done.turn is not None and done.turn.history is not None:
            status["history"] = done.turn.history
        after: Object = {**app, "status": status}
        if done.operation_state.get("phase") in COMPLETED:
            after.pop("operation", None)
        return self._registry.save(name, after)

    # --- what a turn needs -----------------------------------------------------------------------

    def compare(self, name: str, app: Object, wanted: Wanted) -> Comparison:
        aim = Aim(
            sources=wanted.sources,
            revisions=wanted.revisions,
            several=len(wanted.sources) > 1,
            fresh=True,
            local=_local(wanted.manifests),
        )
        try:
            return self._refresher.compare(name, app, aim, forced=True).comparison
        except NoCluster as problem:
            raise NotCompared(str(problem)) from problem

    @property
    def context(self) -> ControllerContext:
        return self._context


class _Turn:
    """The sync's own part of a look; remembers until when it pauses."""

    def __init__(self, operator: OperationProcessor, name: str, app: Object) -> None:
        self._operator = operator
        self._name = name
        self._app = app
        self._all_cluster_ops: list[ClusterOps] = []

    @property
    def not_before(self) -> datetime | None:
        start_times = (getattr(cluster_ops, "not_before", None) for cluster_ops in self._all_cluster_ops)
        return max(
            (start_time for start_time in start_times if isinstance(start_time, datetime)), default=None
        )

    def take(self, state: Object) -> SyncPass:
        operator, context = self._operator, self._operator.context
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
            compare=lambda wanted: operator.compare(self._name, self._app, wanted),
            cluster_ops=lambda user: self._cluster_ops(typed, user),
            now=context.clock.now,
            project_clusters=context.clusters_of(typed.project),
        )
        return sync_app(sync, state)

    def _cluster_ops(self, app: Application, user: str) -> ClusterOps:
        cluster_ops = self._operator.context.cluster_ops(self._operator.context.cluster_of(app).server, user)
        self._all_cluster_ops.append(cluster_ops)
        return cluster_ops


def _local(manifests: tuple[str, ...]) -> tuple[Object, ...]:
    import msgspec

    return tuple(fields(msgspec.json.decode(manifest)) for manifest in manifests)

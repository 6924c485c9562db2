"""The application controller: refresh queue and operation queue.

Mirrors the queues of the application controller, Argo CD 3.6; differs: there is one worker, nothing takes
time, and refreshes have no jitter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.app_of_apps import ChildApps
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.context import ClusterOpsFactory, ControllerContext
from whysync.argocd.app_controller.destination import IN_CLUSTER, Destination
from whysync.argocd.app_controller.need_refresh import REFRESH, should_process_operation
from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.app_controller.process_operation import OperationProcessor
from whysync.argocd.app_controller.refresh import Refresher
from whysync.argocd.app_controller.timings import Timings
from whysync.argocd.app_controller.trace import TraceEvent
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.repo_server.repository import Repository
from whysync.argocd.server.server import Server
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.decode import decode


class ApplicationController:
    """A participant of a `Timeline`; its clusters share one clock.

    `applications` are the stored Applications by qualified name (`argocd/shop`); change them through `edit`
    only. `trace` lists what happened so far. Methods that take an app accept its unqualified name if that is
    unique.
    """

    def __init__(
        self,
        destinations: Iterable[Destination],
        repository: Repository,
        *,
        applications: Iterable[Object] = (),
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
        namespace: str = "argocd",
        cluster_ops: ClusterOpsFactory | None = None,
        timings: Timings | None = None,
    ) -> None:
        all_destinations = list(destinations)
        clock = all_destinations[0].api_server.clock
        self.context = ControllerContext(
            all_destinations,
            repository,
            clock,
            projects=projects,
            config_maps=config_maps,
            namespace=namespace,
            cluster_ops=cluster_ops,
            timings=timings,
        )
        self.context.on_object_updated = self._handle_object_updated
        self._registry = AppRegistry(clock)
        self._refresher = Refresher(self.context, self._registry)
        self._operation_processor = OperationProcessor(self.context, self._registry, self._refresher)
        self.server = Server(self.context, self._registry)
        self.stopped = False
        """While true, the controller does nothing, and requests stay queued."""
        self._instances: dict[str, str] = {}
        self._children = ChildApps(self.context.destinations.get(IN_CLUSTER), self._registry, self.add)
        for application in applications:
            self.add(application)

    @property
    def applications(self) -> dict[str, Object]:
        return self._registry.applications

    @property
    def trace(self) -> list[TraceEvent]:
        return self._registry.trace

    # --- Participant -----------------------------------------------------------------------------

    def reconcile(self) -> bool:
        """Processes each queue entry that is due now."""
        if self.stopped:
            return False
        self.context.process_writes()
        changed = self._children.take_over(self.context.written_argocd_objects())
        now = self.context.clock.now
        for name, queue in list(self._registry.queues.items()):
            queue.enqueue_due(now)
            if queue.queued:
                changed = self._refresher.process_refresh(name) or changed
        for name, queue in list(self._registry.queues.items()):
            if queue.is_operation_due(now):
                changed = self._operation_processor.step(name) or changed
        self._children.write_back()
        return changed

    def next_wakeup(self) -> datetime | None:
        if self.stopped:
            return None
        return min(
            (due for queue in self._registry.queues.values() for due in queue.due_times()), default=None
        )

    def _handle_object_updated(self, instance: str, *, own: bool) -> None:
        """Mirrors `handleObjectUpdated`, Argo CD 3.6."""
        name = self._instances.get(instance)
        if name is None or name not in self.applications:
            return
        queue = self._registry.queues[name]
        queue.request_refresh(CompareWith.CompareWithRecent if own else CompareWith.ComparisonWithNothing)
        if own and should_process_operation(self.applications[name]):
            queue.enqueue_operation(self.context.clock.now + self.context.timings.step_after_change)

    # --- requests of users -----------------------------------------------------------------------

    def add(self, application: Object) -> str:
        """`kubectl apply` of an Application; returns its qualified name."""
        name = self._registry.add(application)
        typed = decode(self.applications[name], Application)[0] or Application()
        self._instances[instance_name(typed.name, typed.namespace, self.context.namespace)] = name
        return name

    def edit(self, app: str, change: Callable[[Object], Object]) -> None:
        """`kubectl edit`: `change` receives the Application and returns the changed one."""
        name = self._registry.name_of(app)
        self._registry.save(name, change(self.applications[name]))

    def refresh(self, app: str, *, hard: bool = False) -> None:
        """Sets the refresh annotation, as a webhook, the CLI and the UI do."""
        kind = "hard" if hard else "normal"

        def asked(app_body: Object) -> Object:
            meta = fields(app_body.get("metadata"))
            annotations: Object = {**fields(meta.get("annotations")), REFRESH: kind}
            return {**app_body, "metadata": {**meta, "annotations": annotations}}

        self.edit(app, asked)

    def webhook(self, repo_url: str) -> None:
        """A push webhook: refreshes each app that uses the repository."""
        self.server.webhook(repo_url, self.refresh)

    def request_sync(
        self, app: str, operation: Object | None = None, *, user: str = "admin", groups: Iterable[str] = ()
    ) -> None:
        """`argocd app sync`: `operation` is the raw `operation`, or only its `sync`; the API server adds the
        defaults. Raises `Denied` with the message that the user sees, and records it in the trace."""
        self.server.sync(self._registry.name_of(app), operation or {}, user=user, groups=tuple(groups))

    def terminate(self, app: str, *, user: str = "admin", groups: Iterable[str] = ()) -> None:
        self.server.terminate(self._registry.name_of(app), user=user, groups=tuple(groups))

    def delete(self, app: str) -> None:
        """`kubectl delete`: an Application without finalizers is removed at once, and its objects stay."""
        name = self._registry.name_of(app)
        meta = fields(self.applications[name].get("metadata"))
        if not meta.get("finalizers"):
            self._registry.drop(name)
        elif not meta.get("deletionTimestamp"):
            stamp = go_time(self.context.clock.now)
            self.edit(
                name, lambda application: {**application, "metadata": {**meta, "deletionTimestamp": stamp}}
            )

    def set_project(self, project: Object) -> None:
        """Creates or changes a project; it takes effect at the next refresh of each app."""
        self.context.set_project(project)

    def drop_project(self, name: str) -> None:
        self.context.drop_project(name)

    def set_config_map(self, config_map: Object) -> None:
        """Changes argocd-cm, argocd-cmd-params-cm or argocd-rbac-cm while Argo CD runs."""
        self.context.set_config_map(config_map)

    def rendered(self) -> dict[str, Sequence[Object]]:
        """The manifests of each app at its last comparison, with tracking metadata."""
        return {name: queue.targets for name, queue in self._registry.queues.items() if queue.targets}

    def status(self, app: str) -> Object:
        return fields(self.applications[self._registry.name_of(app)].get("status"))

    def sync_and_health(self, app: str) -> tuple[str, str]:
        status = self.status(app)
        sync, health = dig(status, "sync", "status"), dig(status, "health", "status")
        return (sync if isinstance(sync, str) else "", health if isinstance(health, str) else "")

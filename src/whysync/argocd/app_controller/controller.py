"""The application controller: who is refreshed when, and whose operation goes on.

Mirrors the queues of the application controller, Argo CD 3.6; differs: there is one worker, nothing takes
time, and refreshes are not spread by chance over a minute.
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
    """Takes part in a `Timeline`; all times are those of the clock that its clusters share.

    `applications` are the Applications as Argo CD stores them, by qualified name (`argocd/shop`): read
    them, but change them through `edit`. `trace` is what happened so far. Where an app is named, its bare
    name will do as long as only one has it.
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
        there = list(destinations)
        clock = there[0].api_server.clock
        self.context = ControllerContext(
            there,
            repository,
            clock,
            projects=projects,
            config_maps=config_maps,
            namespace=namespace,
            cluster_ops=cluster_ops,
            timings=timings,
        )
        self.context.tell = self._handle_object_updated
        self._registry = AppRegistry(clock)
        self._refresher = Refresher(self.context, self._registry)
        self._operator = OperationProcessor(self.context, self._registry, self._refresher)
        self.server = Server(self.context, self._registry)
        self.stopped = False
        """The controller does nothing; what people ask for waits until it goes on."""
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

    # --- what a Timeline asks --------------------------------------------------------------------

    def reconcile(self) -> bool:
        """Everything that is due at this instant, once."""
        if self.stopped:
            return False
        self.context.follow()
        changed = self._children.take_over(self.context.own_kinds())
        now = self.context.clock.now
        for name, record in list(self._registry.records.items()):
            record.wake(now)
            if record.queued:
                changed = self._refresher.look(name) or changed
        for name, record in list(self._registry.records.items()):
            if record.may_operate(now):
                changed = self._operator.step(name) or changed
        self._children.write_back()
        return changed

    def next_wakeup(self) -> datetime | None:
        if self.stopped:
            return None
        return min((due for record in self._registry.records.values() for due in record.dues()), default=None)

    def _handle_object_updated(self, instance: str, *, own: bool) -> None:
        """Mirrors `handleObjectUpdated`, Argo CD 3.6."""
        name = self._instances.get(instance)
        if name is None or name not in self.applications:
            return
        record = self._registry.records[name]
        record.ask(CompareWith.CompareWithRecent if own else CompareWith.ComparisonWithNothing)
        if own and should_process_operation(self.applications[name]):
            record.operate(self.context.clock.now + self.context.timings.step_after_change)

    # --- what people do --------------------------------------------------------------------------

    def add(self, application: Object) -> str:
        """`kubectl apply` of an Application; gives back its qualified name."""
        name = self._registry.add(application)
        typed = decode(self.applications[name], Application)[0] or Application()
        self._instances[instance_name(typed.name, typed.namespace, self.context.namespace)] = name
        return name

    def edit(self, app: str, change: Callable[[Object], Object]) -> None:
        """`kubectl edit`: `change` gets the Application and returns it changed, or changed in part."""
        name = self._registry.name_of(app)
        self._registry.save(name, change(self.applications[name]))

    def refresh(self, app: str, *, hard: bool = False) -> None:
        """The refresh annotation, as a webhook, the CLI and the UI set it."""
        kind = "hard" if hard else "normal"

        def asked(application: Object) -> Object:
            meta = fields(application.get("metadata"))
            annotations: Object = {**fields(meta.get("annotations")), REFRESH: kind}
            return {**application, "metadata": {**meta, "annotations": annotations}}

        self.edit(app, asked)

    def webhook(self, repo_url: str) -> None:
        """A webhook for a push: each app that uses the repository is refreshed."""
        self.server.webhook(repo_url, self.refresh)

    def request_sync(
        self, app: str, operation: Object | None = None, *, user: str = "admin", groups: Iterable[str] = ()
    ) -> None:
        """`argocd app sync`: `operation` is the raw `operation`, or just its `sync`; what is left out gets
        the API server's defaults. Raises `Denied` with the text that the user sees; the refusal is also
        kept."""
        self.server.sync(self._registry.name_of(app), operation or {}, user=user, groups=tuple(groups))

    def rollback(self, app: str, id: int, *, user: str = "admin", prune: bool = False) -> None:
        self.server.rollback(self._registry.name_of(app), id, user=user, prune=prune)

    def terminate(self, app: str, *, user: str = "admin", groups: Iterable[str] = ()) -> None:
        self.server.terminate(self._registry.name_of(app), user=user, groups=tuple(groups))

    def delete(self, app: str) -> None:
        """`kubectl delete`: one without finalizers is gone at once, and leaves all its objects behind."""
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
        """A project that was made or changed; apps learn of it when they are next looked at."""
        self.context.set_project(project)

    def drop_project(self, name: str) -> None:
        self.context.drop_project(name)

    def set_config_map(self, config_map: Object) -> None:
        """argocd-cm, argocd-cmd-params-cm or argocd-rbac-cm, changed while Argo CD runs."""
        self.context.set_config_map(config_map)

    def rendered(self) -> dict[str, Sequence[Object]]:
        """What was rendered for each app when it was last compared, with its marks."""
        return {name: record.targets for name, record in self._registry.records.items() if record.targets}

    def status(self, app: str) -> Object:
        return fields(self.applications[self._registry.name_of(app)].get("status"))

    def sync_and_health(self, app: str) -> tuple[str, str]:
        status = self.status(app)
        sync, health = dig(status, "sync", "status"), dig(status, "health", "status")
        return (sync if isinstance(sync, str) else "", health if isinstance(health, str) else "")

"""Clusters with their controllers, Argo CD and other participants on one clock, built from a World.

clock = Clock()
git = GitRepository(url="https://git.example.com/shop.git", clock=clock)
git.push({"apps/shop": manifests})
simulation = Simulation(World(clock=clock, repository=GitRepositories([git]), applications=(app,)))
simulation.run(timedelta(minutes=10))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from whysync.argocd.app_controller.app_of_apps import definitions
from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.app_controller.destination import IN_CLUSTER, Destination
from whysync.argocd.repo_server.repository import GitRepositories
from whysync.argocd.simulation.commands.kubectl_cli import Kubectl
from whysync.argocd.simulation.world import Controllers, World, WorldCluster
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Participant, Timeline


class LogBook(Protocol):
    def all(self) -> Iterable[Log]: ...


@runtime_checkable
class Logged(Protocol):
    """A participant that has container logs, as the kubelet does."""

    @property
    def logs(self) -> LogBook: ...


class NotCreated(Exception):
    """The API server refuses one of `WorldCluster.created`."""

    def __init__(self, obj: Object, message: str) -> None:
        super().__init__(message)
        self.obj = obj
        self.message = message


class GarbageCollectionOnly:
    """The cleanup after deletions, in a cluster without controllers."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._seen = -1

    def reconcile(self) -> bool:
        before = len(self._api_server.store.journal)
        if before == self._seen:
            return False
        self._api_server.settle()
        self._seen = len(self._api_server.store.journal)
        return self._seen != before

    def next_wakeup(self) -> datetime | None:
        return None


class Simulation:
    """The only builder of a simulated world. Raises `NotCreated`."""

    def __init__(self, world: World) -> None:
        self.version = world.version
        self.secrets = world.secrets
        self.clock = world.clock
        self.repository = world.repository
        self.destinations = tuple(_destination(cluster, world) for cluster in world.clusters)
        self.api_server = self.destinations[0].api_server
        """The API server of the first cluster, usually the only one."""
        self.unserved: list[Object] = []
        """Objects of the World whose kinds the API server does not serve."""
        for cluster, destination in zip(world.clusters, self.destinations, strict=True):
            self.unserved += destination.api_server.load(cluster.objects)
        self._load_definitions(world)
        self.argocd = ApplicationController(
            self.destinations,
            world.repository,
            applications=world.applications,
            projects=world.projects,
            config_maps=world.config_maps,
            namespace=world.namespace,
            cluster_ops=world.cluster_ops,
            timings=world.timings,
        )
        self.controller_managers = [
            _controllers(cluster, destination.api_server)
            for cluster, destination in zip(world.clusters, self.destinations, strict=True)
        ]
        self.participants: list[Participant] = [*self.controller_managers, *world.others, self.argocd]
        self.timeline = Timeline(self.clock, self.participants)
        for cluster, destination in zip(world.clusters, self.destinations, strict=True):
            _create(cluster.created, destination.api_server)
            destination.api_server.webhooks.update(cluster.webhooks)
        for participant in world.others:
            participant.start(self)

    def _load_definitions(self, world: World) -> None:
        """Loads Argo CD's CRDs if Git contains Applications (app of apps)."""
        repository = world.repository
        if not isinstance(repository, GitRepositories) or not repository.has_applications():
            return
        for destination in self.destinations:
            if destination.server == IN_CLUSTER:
                destination.api_server.load(definitions(world.namespace))

    @property
    def git(self) -> GitRepositories:
        """The in-memory repositories."""
        assert isinstance(self.repository, GitRepositories)
        return self.repository

    # --- time ------------------------------------------------------------------------------------

    def run(self, duration: timedelta) -> None:
        """Raises `NeverSettles` if participants undo each other's writes without time passing."""
        self.timeline.run(duration)

    def until(self, holds: Callable[[], bool], limit: timedelta) -> bool:
        """Runs until `holds` returns true; false if that takes longer than `limit`."""
        return self.timeline.run(limit, until=holds)


def _destination(cluster: WorldCluster, world: World) -> Destination:
    return Destination(
        api_server=ApiServer(world.clock),
        server=cluster.server,
        name=cluster.name,
        namespaces=cluster.namespaces,
        cluster_resources=cluster.cluster_resources,
    )


def _controllers(cluster: WorldCluster, api_server: ApiServer) -> Participant:
    match cluster.controllers:
        case Controllers.GARBAGE_COLLECTION:
            return GarbageCollectionOnly(api_server)
        case Controllers.ALL:
            return ControllerManager(api_server, cluster.behavior, nodes=cluster.nodes)
        case Controllers.SETTLED:
            return SettledControllerManager(api_server, cluster.behavior, nodes=cluster.nodes)


def _create(objects: Iterable[Object], api_server: ApiServer) -> None:
    kubectl = Kubectl(api_server)
    for obj in objects:
        message, failed = kubectl.create(obj)
        if failed:
            raise NotCreated(obj, message)


_STUCK: Final = frozenset({"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"})
_WORKLOADS: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
_ALWAYS_UNSETTLED: Final = frozenset({"HorizontalPodAutoscaler", "Namespace", "Node", "ServiceAccount"})


class SettledControllerManager(ControllerManager):
    """Controllers of a cluster loaded from facts: settled objects stay unchanged until they are written.

    A ControllerManager would reconcile every object, and create a ReplicaSet for each Deployment if the
    facts lack it. Here only unsettled objects are reconciled from the start.
    """

    def __init__(self, api_server: ApiServer, behavior: Behavior | None = None, *, nodes: int = 3) -> None:
        super().__init__(api_server, behavior, nodes=nodes)
        journal = self.api_server.store.journal
        for change in journal:
            watching = self._by_kind.get(change.object_key[0], ()) if is_unsettled(change.obj) else ()
            for controller in (*watching, *self._watching_all):
                controller.on_event(change)
        self._seen_changes = len(journal)


def is_unsettled(obj: Object) -> bool:
    """Would a controller write the object or its children even if nothing else changes?"""
    kind = text(obj.get("kind"))
    meta, status = fields(obj.get("metadata")), fields(obj.get("status"))
    if kind in _ALWAYS_UNSETTLED or meta.get("deletionTimestamp"):
        return True
    if kind == "Pod":
        return _is_pod_unsettled(status)
    if kind == "Job":
        done = any(
            dig(condition, "status") == "True" and dig(condition, "type") in ("Complete", "Failed")
            for condition in items(status.get("conditions"))
        )
        return not done or "ttlSecondsAfterFinished" in fields(obj.get("spec"))
    if kind == "PersistentVolumeClaim":
        return status.get("phase") != "Bound"
    if kind == "ResourceQuota":
        return not status.get("hard")  # not counted yet; until then it limits nothing
    if kind in _WORKLOADS:
        if not items(dig(obj, "spec", "template", "spec", "containers")):
            return False  # truncated facts
        if any(
            dig(condition, "type") == "ReplicaFailure" and dig(condition, "status") == "True"
            for condition in items(status.get("conditions"))
        ):
            return True  # the controller retries Pods that it could not create
        return not status or integer(status.get("observedGeneration")) < integer(meta.get("generation"))
    return False


def _is_pod_unsettled(status: Object) -> bool:
    """Is the Pod starting or waiting? A Pod in a crash or pull loop counts as settled."""
    if status.get("phase") in ("Succeeded", "Failed"):
        return False
    states = [
        fields(container_status)
        for group in ("initContainerStatuses", "containerStatuses")
        for container_status in items(status.get(group))
    ]
    if any(text(dig(state, "state", "waiting", "reason")) in _STUCK for state in states):
        return False
    mains = [fields(container_status) for container_status in items(status.get("containerStatuses"))]
    all_running = not mains or all("running" in fields(main.get("state")) for main in mains)
    return status.get("phase") != "Running" or not all_running

"""ControllerManager: runs all controllers, the scheduler and the kubelet of a cluster on its timeline."""

from __future__ import annotations

import heapq
from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.json_tree import garbage_collection_paused
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.api_service import ApiServiceController
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import CONTROLLERS, KUBELET, SCHEDULER, Client
from whysync.kubernetes.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.cronjob import CronJobController
from whysync.kubernetes.controllers.daemonset import DaemonSetController
from whysync.kubernetes.controllers.deployment import DeploymentController
from whysync.kubernetes.controllers.disruption import DisruptionController
from whysync.kubernetes.controllers.endpoints import EndpointsController
from whysync.kubernetes.controllers.garbage_collector import GarbageCollector
from whysync.kubernetes.controllers.hpa import HorizontalController
from whysync.kubernetes.controllers.job import JobController, TtlAfterFinishedController
from whysync.kubernetes.controllers.load_balancer import IngressController, ServiceController
from whysync.kubernetes.controllers.object_index import Kind, ObjectIndex
from whysync.kubernetes.controllers.persistent_volume import PersistentVolumeController
from whysync.kubernetes.controllers.replicaset import ReplicaSetController
from whysync.kubernetes.controllers.resource_quota import ResourceQuotaController
from whysync.kubernetes.controllers.service_account import ServiceAccountsController
from whysync.kubernetes.controllers.statefulset import StatefulSetController
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.kubelet.kubelet import Kubelet
from whysync.kubernetes.kubelet.logs import ContainerLogs
from whysync.kubernetes.kubelet.nodes import ensure_nodes
from whysync.kubernetes.scheduler.scheduler import Scheduler
from whysync.kubernetes.timeline import NeverSettles

_MAX_ROUNDS: Final = 1_000


class ControllerManager:
    """Delivers the changes in the store's journal to the controllers that watch their kind."""

    def __init__(self, api_server: ApiServer, behavior: Behavior | None = None, *, nodes: int = 3) -> None:
        self.api_server = api_server
        self.behavior = behavior or Behavior()
        ensure_nodes(api_server, nodes)
        self.all: Controllers = all_controllers(api_server, self.behavior)
        self.logs = self.all.logs
        """The logs of the containers."""
        self._seen_changes = 0
        self._active = [
            controller for controller in self.all.controllers if controller.name not in self.behavior.stopped
        ]
        self._watching_all: list[Controller] = [
            controller for controller in self._active if controller.watches is None
        ]
        self._by_kind: dict[Kind, list[Controller]] = {}
        for controller in self._active:
            for kind in controller.watches or ():
                self._by_kind.setdefault(kind, []).append(controller)
        self._delayed: list[tuple[datetime, int, int]] = []
        self._delays = {
            index: timedelta(seconds=self.behavior.slow[controller.name])
            for index, controller in enumerate(self._active)
            if controller.name in self.behavior.slow
        }

    def reconcile(self) -> bool:
        start = len(self.api_server.store.journal)
        with garbage_collection_paused():
            for _ in range(_MAX_ROUNDS):
                if not self.step():
                    return len(self.api_server.store.journal) > start
        raise NeverSettles(f"no rest among the controllers at {self.api_server.clock.stamp()}")

    def step(self) -> bool:
        """Reconcile the first controller that has work; false if none has.

        Controllers that create pods come first, so that the Deployment controller sees settled ReplicaSets,
        as in a real cluster, where it backs off after each conflict.
        """
        self._deliver_events()
        return any(controller.reconcile() for controller in self._active)

    def next_wakeup(self) -> datetime | None:
        wakeups = [when for controller in self._active if (when := controller.next_wakeup()) is not None]
        if self._delayed:
            wakeups.append(self._delayed[0][0])
        return min(wakeups, default=None)

    def _deliver_events(self) -> None:
        journal = self.api_server.store.journal
        now = self.api_server.clock.now
        while self._delayed and self._delayed[0][0] <= now:
            _, position, controller_index = heapq.heappop(self._delayed)
            self._active[controller_index].on_event(journal[position])
        while self._seen_changes < len(journal):
            change = journal[self._seen_changes]
            for controller in (*self._by_kind.get(change.object_key[0], ()), *self._watching_all):
                self._deliver(controller, change, now)
            self._seen_changes += 1

    def _deliver(self, controller: Controller, change: Change, now: datetime) -> None:
        if self._delays:
            index = self._active.index(controller)
            if index in self._delays:
                heapq.heappush(self._delayed, (now + self._delays[index], self._seen_changes, index))
                return
        controller.on_event(change)


def workload_controllers(client: Client) -> list[Controller]:
    """Controllers of workloads; those that create pods come first (see `ControllerManager.step`)."""
    return [
        ReplicaSetController(client),
        StatefulSetController(client),
        DaemonSetController(client),
        JobController(client),
        CronJobController(client),
        TtlAfterFinishedController(client),
        DeploymentController(client),
        GarbageCollector(client),
    ]


def infrastructure_controllers(
    api_server: ApiServer, behavior: Behavior, index: ObjectIndex, logs: ContainerLogs
) -> list[Controller]:
    """Other controllers in the order in which they act: what pods wait for comes before the pods."""
    container_behavior = ContainerBehavior(behavior.pods)
    manager = Client(api_server, CONTROLLERS, index)
    return [
        ServiceAccountsController(manager),
        ResourceQuotaController(manager),
        PersistentVolumeController(manager, behavior),
        Scheduler(Client(api_server, SCHEDULER, index), container_behavior),
        Kubelet(Client(api_server, KUBELET, index), container_behavior, logs),
        EndpointsController(manager),
        ApiServiceController(manager),
        ServiceController(Client(api_server, "cloud-controller-manager", index), behavior),
        IngressController(Client(api_server, "nginx-ingress-controller", index), behavior),
        DisruptionController(manager),
        ClusterRoleAggregationController(manager),
        HorizontalController(manager, behavior),
    ]


_FIRST_CONTROLLERS: Final = frozenset({"serviceaccount", "resourcequota"})
"""Controllers whose objects the API server needs when a pod is created."""


class Controllers(msgspec.Struct, frozen=True, kw_only=True):
    controllers: tuple[Controller, ...]
    logs: ContainerLogs


def all_controllers(api_server: ApiServer, behavior: Behavior) -> Controllers:
    index = ObjectIndex(api_server.store)
    manager = Client(api_server, CONTROLLERS, index)
    logs = ContainerLogs(api_server.clock)
    others = infrastructure_controllers(api_server, behavior, index, logs)
    first = [controller for controller in others if controller.name in _FIRST_CONTROLLERS]
    rest = [controller for controller in others if controller.name not in _FIRST_CONTROLLERS]
    return Controllers(controllers=(*first, *workload_controllers(manager), *rest), logs=logs)

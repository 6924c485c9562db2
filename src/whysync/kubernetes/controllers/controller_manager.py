"""All that acts by itself inside a cluster, as one participant of a timeline."""

from __future__ import annotations

import gc
import heapq
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import CONTROLLERS, KUBELET, SCHEDULER, Client
from whysync.kubernetes.controllers.cluster_role_aggregation import ClusterRoleAggregation
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.cronjob import CronJobController
from whysync.kubernetes.controllers.daemonset import DaemonSetController
from whysync.kubernetes.controllers.deployment import DeploymentController
from whysync.kubernetes.controllers.disruption import DisruptionController
from whysync.kubernetes.controllers.endpoints import EndpointsController
from whysync.kubernetes.controllers.garbage_collector import GarbageCollector
from whysync.kubernetes.controllers.hpa import HorizontalController
from whysync.kubernetes.controllers.job import JobController
from whysync.kubernetes.controllers.load_balancer import IngressController, ServiceController
from whysync.kubernetes.controllers.object_index import Kind, ObjectIndex
from whysync.kubernetes.controllers.persistent_volume import PersistentVolumeController
from whysync.kubernetes.controllers.replicaset import ReplicaSetController
from whysync.kubernetes.controllers.resource_quota import ResourceQuotaController
from whysync.kubernetes.controllers.service_account import NamespaceDefaults
from whysync.kubernetes.controllers.statefulset import StatefulSetController
from whysync.kubernetes.controllers.ttl_after_finished import TtlAfterFinishedController
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.kubelet.kubelet import Kubelet
from whysync.kubernetes.kubelet.logs import ContainerLogs
from whysync.kubernetes.kubelet.nodes import ensure_nodes
from whysync.kubernetes.scheduler.scheduler import Scheduler

_MOST_ROUNDS: Final = 1_000


@contextmanager
def _no_search_for_cycles() -> Generator[None]:
    """Objects are trees: looking for cycles among all of them again and again costs the most."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


class ControllersNeverSettle(Exception):
    """The controllers of the cluster never came to rest at one instant."""


class ControllerManager:
    """Follows the journal of the store, so that each controller watches only what concerns it."""

    def __init__(self, api_server: ApiServer, behavior: Behavior | None = None, *, nodes: int = 3) -> None:
        self.api_server = api_server
        self.behavior = behavior or Behavior()
        ensure_nodes(api_server, nodes)
        self.all: Controllers = all_controllers(api_server, self.behavior)
        self.logs = self.all.logs
        """What the containers print."""
        self._seen_changes = 0
        self._acting = [
            controller for controller in self.all.controllers if controller.name not in self.behavior.stopped
        ]
        self._all: list[Controller] = [
            controller for controller in self._acting if controller.watches is None
        ]
        self._by_kind: dict[Kind, list[Controller]] = {}
        for controller in self._acting:
            for kind in controller.watches or ():
                self._by_kind.setdefault(kind, []).append(controller)
        self._late: list[tuple[datetime, int, int]] = []
        self._slow = {
            at: timedelta(seconds=self.behavior.slow[controller.name])
            for at, controller in enumerate(self._acting)
            if controller.name in self.behavior.slow
        }

    def reconcile(self) -> bool:
        start = len(self.api_server.store.journal)
        with _no_search_for_cycles():
            for _ in range(_MOST_ROUNDS):
                if not self.step():
                    return len(self.api_server.store.journal) > start
        raise ControllersNeverSettle(f"no rest among the controllers at {self.api_server.clock.stamp()}")

    def step(self) -> bool:
        """One turn of the first controller that has something to do; false when all rest.

        Those that make pods come first in the cast, so that whoever counts ReplicaSets sees them settled:
        as in a real cluster, where the Deployment controller waits after each of its own conflicts.
        """
        self._tell()
        return any(controller.reconcile() for controller in self._acting)

    def next_wakeup(self) -> datetime | None:
        dates = [when for controller in self._acting if (when := controller.next_wakeup()) is not None]
        if self._late:
            dates.append(self._late[0][0])
        return min(dates, default=None)

    def _tell(self) -> None:
        journal = self.api_server.store.journal
        now = self.api_server.clock.now
        while self._late and self._late[0][0] <= now:
            _, at, who = heapq.heappop(self._late)
            self._acting[who].on_event(journal[at])
        while self._seen_changes < len(journal):
            change = journal[self._seen_changes]
            for controller in (*self._by_kind.get(change.place[0], ()), *self._all):
                self._hand(controller, change, now)
            self._seen_changes += 1

    def _hand(self, controller: Controller, change: Change, now: datetime) -> None:
        if self._slow:
            who = self._acting.index(controller)
            if who in self._slow:
                heapq.heappush(self._late, (now + self._slow[who], self._seen_changes, who))
                return
        controller.on_event(change)


def workload_controllers(client: Client) -> list[Controller]:
    """Those that make pods first: whoever counts what they made sees them settled."""
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


def infrastructure(
    api_server: ApiServer, behavior: Behavior, index: ObjectIndex, logs: ContainerLogs
) -> list[Controller]:
    """In the order in which they act at one instant: what pods wait for comes before them."""
    container_behavior = ContainerBehavior(behavior.pods)
    manager = Client(api_server, CONTROLLERS, index)
    return [
        NamespaceDefaults(manager),
        ResourceQuotaController(manager),
        PersistentVolumeController(manager, behavior),
        Scheduler(Client(api_server, SCHEDULER, index), container_behavior),
        Kubelet(Client(api_server, KUBELET, index), container_behavior, logs),
        EndpointsController(manager),
        ServiceController(Client(api_server, "cloud-controller-manager", index), behavior),
        IngressController(Client(api_server, "nginx-ingress-controller", index), behavior),
        DisruptionController(manager),
        ClusterRoleAggregation(manager),
        HorizontalController(manager, behavior),
    ]


_BEFORE_PODS: Final = frozenset({"serviceaccount", "resourcequota"})
"""What the API server asks for when a pod is made must be there before anybody makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    controllers: tuple[Controller, ...]
    logs: ContainerLogs


def all_controllers(api_server: ApiServer, behavior: Behavior) -> Controllers:
    index = ObjectIndex(api_server.store)
    manager = Client(api_server, CONTROLLERS, index)
    logs = ContainerLogs(api_server.clock)
    others = infrastructure(api_server, behavior, index, logs)
    first = [other for other in others if other.name in _BEFORE_PODS]
    rest = [other for other in others if other.name not in _BEFORE_PODS]
    return Controllers(controllers=(*first, *workload_controllers(manager), *rest), logs=logs)

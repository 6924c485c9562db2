"""Who is on stage: all controllers of a cluster, in the order in which they act at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import CONTROLLERS, Client
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.infrastructure import infrastructure
from whysync.kubernetes.controllers.object_index import ObjectIndex
from whysync.kubernetes.controllers.workloads import workload_controllers
from whysync.kubernetes.kubelet.logs import LogBook

_BEFORE_PODS: Final = frozenset({"serviceaccount", "resourcequota"})
"""What the API server asks for when a pod is made must be there before anybody makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    controllers: tuple[Controller, ...]
    logs: LogBook


def all_controllers(model: ApiServer, script: Behavior) -> Controllers:
    index = ObjectIndex(model.store)
    manager = Client(model, CONTROLLERS, index)
    logs = LogBook(model.clock)
    others = infrastructure(model, script, index, logs)
    first = [other for other in others if other.name in _BEFORE_PODS]
    rest = [other for other in others if other.name not in _BEFORE_PODS]
    return Controllers(controllers=(*first, *workload_controllers(manager), *rest), logs=logs)

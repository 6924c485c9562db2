"""Who is on stage: all controllers of a cluster, in the order in which they act at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from whysync.kubernetes.apiserver.server import Model
from whysync.kubernetes.controllers.behavior import Script
from whysync.kubernetes.controllers.client import CONTROLLERS, Desk
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.infrastructure import infrastructure
from whysync.kubernetes.controllers.object_index import Index
from whysync.kubernetes.controllers.workloads import workload_controllers
from whysync.kubernetes.kubelet.logs import LogBook

_BEFORE_PODS: Final = frozenset({"serviceaccount", "resourcequota"})
"""What the API server asks for when a pod is made must be there before anybody makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    controllers: tuple[Controller, ...]
    logs: LogBook


def cast(model: Model, script: Script) -> Cast:
    index = Index(model.store)
    manager = Desk(model, CONTROLLERS, index)
    logs = LogBook(model.clock)
    others = infrastructure(model, script, index, logs)
    first = [one for one in others if one.name in _BEFORE_PODS]
    rest = [one for one in others if one.name not in _BEFORE_PODS]
    return Cast(controllers=(*first, *workload_controllers(manager), *rest), logs=logs)

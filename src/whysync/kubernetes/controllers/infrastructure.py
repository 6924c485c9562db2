"""The scheduler, the kubelets, and the controllers that are not about workloads."""

from __future__ import annotations

from whysync.kubernetes.apiserver.server import Model
from whysync.kubernetes.controllers.behavior import Script
from whysync.kubernetes.controllers.client import CONTROLLERS, KUBELET, SCHEDULER, Desk
from whysync.kubernetes.controllers.cluster_role_aggregation import ClusterRoleAggregation
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.disruption import Disruption
from whysync.kubernetes.controllers.endpoints import EndpointsController
from whysync.kubernetes.controllers.hpa import Autoscaler
from whysync.kubernetes.controllers.load_balancer import Ingresses, LoadBalancers
from whysync.kubernetes.controllers.object_index import Index
from whysync.kubernetes.controllers.persistent_volume import VolumeBinder
from whysync.kubernetes.controllers.resource_quota import Quotas
from whysync.kubernetes.controllers.service_account import NamespaceDefaults
from whysync.kubernetes.kubelet.container_behavior import Behaviour
from whysync.kubernetes.kubelet.kubelet import Kubelet
from whysync.kubernetes.kubelet.logs import LogBook
from whysync.kubernetes.scheduler.scheduler import Scheduler


def infrastructure(model: Model, script: Script, index: Index, logs: LogBook) -> list[Controller]:
    """In the order in which they act at one instant: what pods wait for comes before them."""
    behaviour = Behaviour(script.pods)
    manager = Desk(model, CONTROLLERS, index)
    return [
        NamespaceDefaults(manager),
        Quotas(manager),
        VolumeBinder(manager, script),
        Scheduler(Desk(model, SCHEDULER, index), behaviour),
        Kubelet(Desk(model, KUBELET, index), behaviour, logs),
        EndpointsController(manager),
        LoadBalancers(Desk(model, "cloud-controller-manager", index), script),
        Ingresses(Desk(model, "nginx-ingress-controller", index), script),
        Disruption(manager),
        ClusterRoleAggregation(manager),
        Autoscaler(manager, script),
    ]

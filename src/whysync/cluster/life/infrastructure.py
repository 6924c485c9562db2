"""The scheduler, the kubelets, and the controllers that are not about workloads."""

from __future__ import annotations

from whysync.cluster.life.behaviour import Behaviour
from whysync.cluster.life.cluster_roles import ClusterRoleAggregation
from whysync.cluster.life.controller import Controller
from whysync.cluster.life.desk import CONTROLLERS, KUBELET, SCHEDULER, Desk
from whysync.cluster.life.disruption import Disruption
from whysync.cluster.life.endpoints import EndpointsController
from whysync.cluster.life.hpa import Autoscaler
from whysync.cluster.life.index import Index
from whysync.cluster.life.kubelet import Kubelet
from whysync.cluster.life.load_balancers import Ingresses, LoadBalancers
from whysync.cluster.life.logs import LogBook
from whysync.cluster.life.quota import Quotas
from whysync.cluster.life.scheduler import Scheduler
from whysync.cluster.life.script import Script
from whysync.cluster.life.service_accounts import NamespaceDefaults
from whysync.cluster.life.volumes import VolumeBinder
from whysync.cluster.model import Model


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

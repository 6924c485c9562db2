"""The scheduler, the kubelets, and the controllers that are not about workloads."""

from __future__ import annotations

from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.client import CONTROLLERS, KUBELET, SCHEDULER, Client
from whysync.kubernetes.controllers.cluster_role_aggregation import ClusterRoleAggregation
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.disruption import DisruptionController
from whysync.kubernetes.controllers.endpoints import EndpointsController
from whysync.kubernetes.controllers.hpa import HorizontalController
from whysync.kubernetes.controllers.load_balancer import IngressController, ServiceController
from whysync.kubernetes.controllers.object_index import ObjectIndex
from whysync.kubernetes.controllers.persistent_volume import PersistentVolumeController
from whysync.kubernetes.controllers.resource_quota import ResourceQuotaController
from whysync.kubernetes.controllers.service_account import NamespaceDefaults
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.kubelet.kubelet import Kubelet
from whysync.kubernetes.kubelet.logs import LogBook
from whysync.kubernetes.scheduler.scheduler import Scheduler


def infrastructure(model: ApiServer, script: Behavior, index: ObjectIndex, logs: LogBook) -> list[Controller]:
    """In the order in which they act at one instant: what pods wait for comes before them."""
    behaviour = ContainerBehavior(script.pods)
    manager = Client(model, CONTROLLERS, index)
    return [
        NamespaceDefaults(manager),
        ResourceQuotaController(manager),
        PersistentVolumeController(manager, script),
        Scheduler(Client(model, SCHEDULER, index), behaviour),
        Kubelet(Client(model, KUBELET, index), behaviour, logs),
        EndpointsController(manager),
        ServiceController(Client(model, "cloud-controller-manager", index), script),
        IngressController(Client(model, "nginx-ingress-controller", index), script),
        DisruptionController(manager),
        ClusterRoleAggregation(manager),
        HorizontalController(manager, script),
    ]

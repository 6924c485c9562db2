"""World: the plain value that a simulation is built from.

Proofs, plans and the lab translate their input (a Case, a rendered commit, a scenario) into a World, from
which `Simulation(world)` builds the clusters, Argo CD and the other participants.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from whysync.argocd.app_controller.context import ClusterOpsFactory
from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.app_controller.timings import Timings
from whysync.argocd.repo_server.repository import Repository
from whysync.json_tree import Object
from whysync.kubernetes.admission.webhooks import Webhook
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.timeline import Participant

if TYPE_CHECKING:
    from whysync.argocd.simulation.simulation import Simulation

VERSION: Final = "v3.6.0"


class Controllers(Enum):
    """The Kubernetes controllers that run in a cluster."""

    GARBAGE_COLLECTION = auto()
    """Only garbage collection."""
    ALL = auto()
    """All controllers, the scheduler and the kubelets."""
    SETTLED = auto()
    """All controllers, but settled objects stay unchanged until they are written."""


class OtherParticipant(Participant, Protocol):
    """A participant besides Kubernetes and Argo CD: a scripted user, or a third-party controller."""

    def start(self, simulation: Simulation) -> None:
        """Called once, after everything else is built."""
        ...


class WorldCluster(msgspec.Struct, frozen=True, kw_only=True):
    server: str = IN_CLUSTER
    """The server URL in the app's destination."""
    name: str = "in-cluster"
    namespaces: tuple[str, ...] = ()
    """The only namespaces that Argo CD manages; empty means all."""
    cluster_resources: bool = False
    """With `namespaces`: cluster-scoped objects are managed too."""
    objects: tuple[Object, ...] = ()
    """Stored unchanged, like objects that were read from a running cluster."""
    created: tuple[Object, ...] = ()
    """Created through the API in this order, before webhooks are called."""
    webhooks: Mapping[str, Webhook] = msgspec.field(default_factory=dict[str, Webhook])
    """Responses of admission webhooks by name; webhooks without a response fail."""
    controllers: Controllers = Controllers.GARBAGE_COLLECTION
    behavior: Behavior = msgspec.field(default_factory=Behavior)
    """The behavior of Pods and of systems outside the cluster."""
    nodes: int = 3
    """The minimum number of Nodes; missing ones are created."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    clock: Clock
    """Shared by all clusters and by `repository`."""
    repository: Repository
    applications: tuple[Object, ...] = ()
    projects: tuple[Object, ...] = ()
    config_maps: tuple[Object, ...] = ()
    """Argo CD's ConfigMaps."""
    secrets: tuple[Object, ...] = ()
    """Argo CD's cluster and repository Secrets; the lab adds them to its snapshot."""
    clusters: tuple[WorldCluster, ...] = (WorldCluster(),)
    others: tuple[OtherParticipant, ...] = ()
    """Other participants, which act after the controllers and before Argo CD."""
    namespace: str = "argocd"
    """The namespace of Argo CD."""
    version: str = VERSION
    timings: Timings | None = None
    """Timings of the application controller; by default from argocd-cmd-params-cm."""
    cluster_ops: ClusterOpsFactory | None = None
    """How a sync reads and writes a cluster; by default with kubectl on the in-memory cluster."""

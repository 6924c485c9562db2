"""World: the plain value that a simulation is built from.

Whoever simulates translates its input (a Case, a rendered commit, a lab scenario) into a World;
`Simulation(world)` builds the clusters, Argo CD and the other participants from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

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
    """Which controllers of Kubernetes run in a cluster."""

    GARBAGE_COLLECTION = auto()
    """Only the cleanup after deletions."""
    ALL = auto()
    """All controllers, the scheduler and the kubelets."""
    SETTLED = auto()
    """All of them, but objects at rest stay unchanged until they are written."""


class OtherParticipant(Participant, Protocol):
    """Somebody else who acts: a user with a plan, a controller that Kubernetes does not have."""

    def start(self, simulation: Simulation) -> None:
        """Called once, when everything else is built."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldCluster:
    server: str = IN_CLUSTER
    """As Argo CD knows the cluster."""
    name: str = "in-cluster"
    namespaces: tuple[str, ...] = ()
    """The only namespaces that Argo CD manages; empty means all."""
    cluster_resources: bool = False
    """With `namespaces`: cluster-scoped objects are managed too."""
    objects: tuple[Object, ...] = ()
    """Stored as they are, like objects that were read from a running cluster."""
    created: tuple[Object, ...] = ()
    """Created through the API in this order, before webhooks are called."""
    webhooks: Mapping[str, Webhook] = field(default_factory=dict[str, Webhook])
    """Responses of admission webhooks by name; webhooks without a response fail."""
    controllers: Controllers = Controllers.GARBAGE_COLLECTION
    behavior: Behavior = field(default_factory=Behavior)
    """Of pods and of what Kubernetes asks outside the cluster."""
    nodes: int = 3
    """Created if there are fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    clock: Clock
    """Shared by all clusters and by `repository`."""
    repository: Repository
    applications: tuple[Object, ...] = ()
    projects: tuple[Object, ...] = ()
    config_maps: tuple[Object, ...] = ()
    """Argo CD's settings."""
    secrets: tuple[Object, ...] = ()
    """Argo CD's Secrets of clusters and repositories, shown in a snapshot next to the settings."""
    clusters: tuple[WorldCluster, ...] = (WorldCluster(),)
    others: tuple[OtherParticipant, ...] = ()
    """They act after the controllers and before Argo CD."""
    namespace: str = "argocd"
    """Argo CD's own."""
    version: str = VERSION
    timings: Timings | None = None
    """How fast Argo CD works; by default as its settings have it."""
    cluster_ops: ClusterOpsFactory | None = None
    """How a sync reads and writes a cluster; by default with kubectl on the cluster in memory."""

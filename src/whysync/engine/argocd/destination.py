"""A cluster that Argo CD deploys to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from whysync.cluster.model import Model
from whysync.semantics.project import Cluster

IN_CLUSTER: Final = "https://kubernetes.default.svc"


@dataclass(slots=True, kw_only=True)
class Destination:
    """`unreachable` is what Argo CD is told instead of an answer; it may change as time passes."""

    model: Model
    server: str = IN_CLUSTER
    name: str = "in-cluster"
    project: str = ""
    """Of a cluster that belongs to one project alone."""
    namespaces: tuple[str, ...] = ()
    """Where Argo CD manages these namespaces only."""
    unreachable: str = ""

    @property
    def cluster(self) -> Cluster:
        return Cluster(server=self.server, name=self.name, project=self.project)

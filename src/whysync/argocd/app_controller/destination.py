"""A cluster that Argo CD deploys to."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Final

from whysync.argocd.projects import Cluster
from whysync.json_tree import Object
from whysync.kubernetes.apiserver.server import ApiServer

IN_CLUSTER: Final = "https://kubernetes.default.svc"


@dataclass(slots=True, kw_only=True)
class Destination:
    """`unreachable` is what Argo CD is told instead of an answer; it may change as time passes."""

    api_server: ApiServer
    server: str = IN_CLUSTER
    name: str = "in-cluster"
    project: str = ""
    """Of a cluster that belongs to one project alone."""
    namespaces: tuple[str, ...] = ()
    """Where Argo CD manages these namespaces only."""
    cluster_resources: bool = False
    """Then also what lies in no namespace."""
    unreachable: str = ""

    def secret(self, namespace: str) -> Object:
        """The cluster Secret of Argo CD, without credentials."""
        values = {"name": self.name, "server": self.server, "project": self.project}
        values |= {"namespaces": ",".join(self.namespaces)}
        values |= {"clusterResources": "true"} if self.cluster_resources else {}
        host = self.server.partition("://")[2].partition("/")[0].partition(":")[0]
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"cluster-{host}",
                "namespace": namespace,
                "labels": {"argocd.argoproj.io/secret-type": "cluster"},
            },
            "type": "Opaque",
            "data": {key: b64encode(value.encode()).decode() for key, value in values.items() if value},
        }

    @property
    def cluster(self) -> Cluster:
        return Cluster(server=self.server, name=self.name, project=self.project)

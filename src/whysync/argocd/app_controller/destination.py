"""A cluster that Argo CD deploys to."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

import msgspec

from whysync.argocd.projects import Cluster
from whysync.json_tree import Object

if TYPE_CHECKING:  # rules read the names of clusters, and need no API server
    from whysync.kubernetes.apiserver.server import ApiServer

IN_CLUSTER: Final = "https://kubernetes.default.svc"


class Destination(msgspec.Struct, kw_only=True):
    """`unreachable` is the error of each connection to the cluster; empty if it is reachable."""

    api_server: ApiServer
    server: str = IN_CLUSTER
    name: str = "in-cluster"
    project: str = ""
    """The project of a project-scoped cluster."""
    namespaces: tuple[str, ...] = ()
    """The only namespaces that Argo CD manages; empty means all."""
    cluster_resources: bool = False
    """With `namespaces`: cluster-scoped objects are managed too."""
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

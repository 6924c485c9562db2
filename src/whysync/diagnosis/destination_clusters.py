"""Which cluster an Application goes to, and which of the live objects are on it.

Argo CD knows clusters by server and name; a bundle of several has their live objects in folders of that name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from whysync.argocd.api.application import Destination
from whysync.argocd.projects import Cluster, NoCluster, destination_cluster
from whysync.argocd.projects.cluster_secrets import cluster_secret_data, namespaces_in
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest

IN_CLUSTER = Cluster(server="https://kubernetes.default.svc", name="in-cluster")


def known_clusters(settings: Iterable[Manifest]) -> list[Cluster]:
    """Of Argo CD's cluster Secrets; the one that it runs in needs none."""
    told = [_cluster_of(setting.body) for setting in settings if setting.ref.kind == "Secret"]
    clusters = [cluster for cluster in told if cluster is not None]
    if not any(cluster.server == IN_CLUSTER.server for cluster in clusters):
        clusters.append(IN_CLUSTER)
    return clusters


def cluster_for(destination: Destination, clusters: Iterable[Cluster]) -> Cluster:
    """A cluster that the facts do not describe is known by what the app calls it."""
    try:
        return destination_cluster(destination, list(clusters))
    except NoCluster:
        return Cluster(server=destination.server, name=destination.name)


def live_objects_cluster(cluster: Cluster, destination: Destination, places: Collection[str]) -> str | None:
    """Under which of these names its live objects are; `None` where under none of them."""
    names = (cluster.name, cluster.server, destination.name, "")
    return next((name for name in names if name in places), None)


def managed_namespaces(
    settings: Iterable[Manifest], cluster: Cluster
) -> tuple[Manifest, tuple[str, ...]] | None:
    """The Secret of a cluster that Argo CD manages in part, and the namespaces that it names."""
    for setting in settings:
        told = cluster_secret_data(setting.body) if setting.ref.kind == "Secret" else {}
        spaces = namespaces_in(told)
        if spaces and told.get("server") == cluster.server:
            return setting, spaces
    return None


def _cluster_of(secret: Object) -> Cluster | None:
    """A cluster Secret of Argo CD's; its name and server are no secrets, and not masked."""
    values = cluster_secret_data(secret)
    server = values.get("server", "")
    if not server:
        return None
    return Cluster(server=server, name=values.get("name", ""), project=values.get("project", ""))

"""Destination clusters of Applications, and the live objects of each cluster.

Argo CD identifies clusters by server and name; a bundle of several clusters has a folder of live objects
per name.
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
    """The clusters of Argo CD's cluster Secrets, and the one that it runs in, which needs none."""
    registered = [_cluster_of(setting.body) for setting in settings if setting.ref.kind == "Secret"]
    clusters = [cluster for cluster in registered if cluster is not None]
    if not any(cluster.server == IN_CLUSTER.server for cluster in clusters):
        clusters.append(IN_CLUSTER)
    return clusters


def cluster_for(destination: Destination, clusters: Iterable[Cluster]) -> Cluster:
    """The cluster of a destination; if it is not registered, one with the destination's server and name."""
    try:
        return destination_cluster(destination, list(clusters))
    except NoCluster:
        return Cluster(server=destination.server, name=destination.name)


def live_objects_cluster(
    cluster: Cluster, destination: Destination, cluster_names: Collection[str]
) -> str | None:
    """The name under which the facts have the cluster's live objects; `None` if they have none."""
    names = (cluster.name, cluster.server, destination.name, "")
    return next((name for name in names if name in cluster_names), None)


def managed_namespaces(
    settings: Iterable[Manifest], cluster: Cluster
) -> tuple[Manifest, tuple[str, ...]] | None:
    """The Secret of a cluster that is registered with a list of namespaces, and these namespaces."""
    for setting in settings:
        data = cluster_secret_data(setting.body) if setting.ref.kind == "Secret" else {}
        namespaces = namespaces_in(data)
        if namespaces and data.get("server") == cluster.server:
            return setting, namespaces
    return None


def _cluster_of(secret: Object) -> Cluster | None:
    """The cluster of an Argo CD cluster Secret; its name and server are not masked."""
    values = cluster_secret_data(secret)
    server = values.get("server", "")
    if not server:
        return None
    return Cluster(server=server, name=values.get("name", ""), project=values.get("project", ""))

"""The clusters of Argo CD's cluster Secrets, without credentials: name, server, project, namespaces."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable

from whysync.argocd.api.application import Destination
from whysync.argocd.projects.app_spec import NoCluster, destination_cluster
from whysync.argocd.projects.permissions import Cluster
from whysync.json_tree import Object, dig, fields, text
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


def namespaced_registration(
    settings: Iterable[Manifest], cluster: Cluster
) -> tuple[Manifest, tuple[str, ...]] | None:
    """The Secret of a cluster that is registered with a list of namespaces, and these namespaces."""
    for setting in settings:
        data = cluster_secret_data(setting.body) if setting.ref.kind == "Secret" else {}
        namespaces = namespaces_in(data)
        if namespaces and data.get("server") == cluster.server:
            return setting, namespaces
    return None


def cluster_secret_data(secret: Object) -> dict[str, str]:
    """The decoded data of a cluster Secret, empty for other objects; masked or invalid values are empty."""
    if dig(secret, "metadata", "labels", "argocd.argoproj.io/secret-type") != "cluster":
        return {}
    values = {key: _decoded(text(value)) for key, value in fields(secret.get("data")).items()}
    return values | {key: text(value) for key, value in fields(secret.get("stringData")).items()}


def namespaces_in(secret_data: dict[str, str]) -> tuple[str, ...]:
    """The namespaces that Argo CD manages; empty means all."""
    return tuple(
        namespace for piece in secret_data.get("namespaces", "").split(",") if (namespace := piece.strip())
    )


def _cluster_of(secret: Object) -> Cluster | None:
    """The cluster of an Argo CD cluster Secret; its name and server are not masked."""
    values = cluster_secret_data(secret)
    server = values.get("server", "")
    if not server:
        return None
    return Cluster(server=server, name=values.get("name", ""), project=values.get("project", ""))


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return ""

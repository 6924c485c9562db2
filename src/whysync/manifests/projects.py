"""AppProjects in the files of a repository, and what they deny to an Application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects.cluster_secrets import IN_CLUSTER
from whysync.argocd.projects.permissions import Cluster, destination_verdict, kind_verdict, source_verdict
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.manifests.files import Item
from whysync.manifests.tree import AppSpec, Tree


class Denial(NamedTuple):
    """Argo CD's message, and the pointer of the field that the project does not permit."""

    message: str
    field: str


def declared_projects(tree: Tree) -> dict[str, AppProject]:
    """By name; without names that several projects have, because it is unknown which one is deployed."""
    by_name: dict[str, list[AppProject]] = {}
    for item in tree.of_kind("AppProject"):
        project, _ = decode(item.body, AppProject)
        if project is not None and item.ref.group == "argoproj.io" and not item.kustomized:
            by_name.setdefault(item.ref.name, []).append(project)
    return {name: projects[0] for name, projects in by_name.items() if len(projects) == 1}


def denied_sources(app: AppSpec, project: AppProject) -> Iterator[Denial]:
    single = [(fields(app.spec.get("source")), f"{app.at}/source")] if app.spec.get("source") else []
    multiple = [
        (fields(source), f"{app.at}/sources/{index}")
        for index, source in enumerate(items(app.spec.get("sources")))
    ]
    for source, pointer in multiple or single:
        url = text(source.get("repoURL"))
        if url and not _is_placeholder(url) and not source_verdict(project, url).permitted:
            message = f"application repo {url} is not permitted in project '{project.metadata.name}'"
            yield Denial(message, f"{pointer}/repoURL")


def denied_destinations(app: AppSpec, project: AppProject) -> Iterator[Denial]:
    destination = fields(app.spec.get("destination"))
    namespace = text(destination.get("namespace"))
    cluster = _declared_cluster(text(destination.get("server")), text(destination.get("name")))
    if cluster != IN_CLUSTER and any(
        (permitted.name and not cluster.name) or (permitted.server and not cluster.server)
        for permitted in project.spec.destinations
    ):
        return  # the files do not contain which name belongs to which server
    if not (cluster.server or cluster.name) or project.spec.permit_only_project_scoped_clusters:
        return
    if any(_is_placeholder(value) for value in (cluster.server, cluster.name, namespace)):
        return
    if not destination_verdict(project, cluster, namespace).permitted:
        server = text(destination.get("name")) or cluster.server
        yield Denial(
            f"application destination server '{server}' and namespace '{namespace}' do not match any of the "
            f"allowed destinations in project '{project.metadata.name}'",
            f"{app.at}/destination",
        )


def is_kind_permitted(tree: Tree, item: Item, project: AppProject) -> bool:
    """Does the project permit the kind? Also true if it is unknown whether the kind is namespaced."""
    ref, namespaced = item.ref, tree.is_namespaced(item.ref)
    return (
        namespaced is None
        or kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=namespaced).permitted
    )


def _declared_cluster(server: str, name: str) -> Cluster:
    if server.rstrip("/") == IN_CLUSTER.server or name == IN_CLUSTER.name:
        return IN_CLUSTER
    return Cluster(server=server, name=name)


def _is_placeholder(value: str) -> bool:
    return "{" in value or "$" in value

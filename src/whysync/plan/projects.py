"""The AppProjects that a side of the checkout declares, and what they permit to an Application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.application_sets.inputs import RegisteredCluster
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.projects.cluster_secrets import IN_CLUSTER
from whysync.argocd.projects.permissions import (
    Cluster,
    destination_verdict,
    kind_verdict,
    project_glob,
    source_verdict,
)
from whysync.argocd.simulation.from_facts import cluster_of
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import ref_of
from whysync.plan.checkout import sources_of
from whysync.plan.find_applications import is_project
from whysync.plan.placeholders import has_placeholder

_PERMISSIONS: Final = (
    "sourceRepos",
    "destinations",
    "clusterResourceWhitelist",
    "clusterResourceBlacklist",
    "namespaceResourceWhitelist",
    "namespaceResourceBlacklist",
    "permitOnlyProjectScopedClusters",
)
"""The fields of a project that decide whether a sync fails; windows delay it and roles concern people."""


class UsedProject(msgspec.Struct, frozen=True, kw_only=True):
    """The project of an Application on one side."""

    body: Object | None = None
    """With its permissions only; `None` if the side does not declare it."""
    is_removed: bool = False
    """The base declares it, but the head does not."""
    gap: Gap | None = None
    """Why it is not known whether the project permits the Application."""


NOT_DECLARED: Final = UsedProject()


def project_name(application: Object) -> str:
    return (decode(application, Application)[0] or Application()).project


def or_of_cluster(project: UsedProject, application: Object, deployed: Iterable[Manifest]) -> UsedProject:
    """If Git does not say what the project permits: what the deployed one does."""
    if (project.body is not None and project.gap is None) or project.is_removed:
        return project
    name = project_name(application)
    bodies = (manifest.body for manifest in deployed if manifest.ref.name == name)
    return next((UsedProject(body=_permissions(body)) for body in bodies), project)


class DeclaredProjects:
    """The projects in files, and those that Applications render, which come first."""

    def __init__(self, in_files: Iterable[tuple[str, Object]], clusters: Iterable[RegisteredCluster]) -> None:
        self._in_files: dict[str, list[tuple[str, Object]]] = {}
        self._rendered: dict[str, list[tuple[str, Object]]] = {}
        self._of_roots: dict[tuple[str, str], dict[str, list[tuple[str, Object]]]] = {}
        self._clusters = tuple(clusters)
        for file, body in in_files:
            _add(self._in_files, file, body)

    def add(self, root: tuple[str, str], objects: Iterable[Object]) -> None:
        """Add the projects in the output of an Application, which this root leads to."""
        for obj in objects:
            if is_project(obj):
                own = self._of_roots.setdefault(root, {})
                _add(own, root[1] or root[0], obj)
                _add(self._rendered, root[1] or root[0], obj)

    def of(self, application: Object, objects: list[Object], root: tuple[str, str]) -> UsedProject:
        """The project of an Application that deploys these objects; each root may lead to its own cluster."""
        name = project_name(application)
        of_root = self._of_roots.get(root, {})
        declared = of_root.get(name) or self._rendered.get(name) or self._in_files.get(name) or []
        used = [self._used(body, application) for _, body in declared]
        if len(used) < 2:
            return used[0] if used else NOT_DECLARED
        if not any(project.gap or _denies(project.body, application, objects) for project in used):
            return used[0]
        first, second = declared[0][0], declared[1][0]
        gap = Gap(
            kind=GapKind.NOT_COLLECTED,
            what=f"AppProject {name}",
            why=f"{first} and {second} declare it differently, and not each of them permits this app",
            how_to_get="plan with --live",
        )
        return UsedProject(gap=gap)

    def _used(self, project: Object, application: Object) -> UsedProject:
        """The project with the names and servers of the app's cluster, as far as they are known."""
        body = _permissions(project)
        spec = fields(body["spec"])
        cluster = _named_cluster(application, self._clusters)
        namespace = text(dig(application, "spec", "destination", "namespace"))
        why = ""
        if spec.get("permitOnlyProjectScopedClusters") is True:
            if cluster.project == text(dig(project, "metadata", "name")):
                del spec["permitOnlyProjectScopedClusters"]
            elif not any(cluster.server == registered.server for registered in self._clusters):
                why = "it permits only its own clusters, and which these are is not known"
        same_cluster = [
            entry
            for entry in map(fields, items(spec.get("destinations")))
            if cluster is not IN_CLUSTER
            and (_names(entry, "server", cluster.server) or _names(entry, "name", cluster.name))
        ]
        if (cluster.server and cluster.name) or destination_verdict(
            _decoded(body), cluster, namespace
        ).permitted:
            server = cluster_of(application).server
            spec["destinations"] = [
                *items(spec.get("destinations")),
                *({"server": server, "namespace": text(entry.get("namespace"))} for entry in same_cluster),
            ]
        elif any(_may_name(entry, cluster) for entry in map(fields, items(spec.get("destinations")))):
            known = cluster.name or cluster.server
            why = f"its destinations identify clusters differently than the app, which names {known}"
        if not why:
            return UsedProject(body=body)
        spec["destinations"] = [{"server": "*", "namespace": "*"}]
        spec.pop("permitOnlyProjectScopedClusters", None)
        return UsedProject(
            body=body,
            gap=Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"what AppProject {text(dig(project, 'metadata', 'name'))} permits",
                why=why,
                how_to_get="give the clusters with --clusters FILE",
            ),
        )


def _add(projects: dict[str, list[tuple[str, Object]]], origin: str, body: Object) -> None:
    name = text(dig(body, "metadata", "name"))
    declared = projects.setdefault(name, [])
    if name and not _has_placeholder(body) and all(body["spec"] != other["spec"] for _, other in declared):
        declared.append((origin, body))


def _has_placeholder(body: Object) -> bool:
    spec = body.get("spec")
    if not isinstance(spec, dict) or has_placeholder(text(dig(body, "metadata", "name"))):
        return True
    destinations = map(fields, items(spec.get("destinations")))
    values = [
        *map(text, items(spec.get("sourceRepos"))),
        *(text(value) for entry in destinations for value in entry.values()),
    ]
    return any(map(has_placeholder, values))


def with_permissions(project: Object, declared: Object) -> Object:
    """A deployed project with the permissions of the declared one."""
    kept = {key: value for key, value in fields(project.get("spec")).items() if key not in _PERMISSIONS}
    return {**declared, "spec": {**kept, **fields(declared.get("spec"))}}


def _permissions(project: Object) -> Object:
    spec = {key: value for key, value in fields(project.get("spec")).items() if key in _PERMISSIONS}
    meta: Object = {"name": text(dig(project, "metadata", "name")), "namespace": "argocd"}
    return {**project, "metadata": meta, "spec": spec}


def _decoded(body: Object) -> AppProject:
    return decode(body, AppProject)[0] or AppProject()


def _named_cluster(application: Object, clusters: Iterable[RegisteredCluster]) -> Cluster:
    """The destination with what the registered clusters tell about it."""
    destination = fields(dig(application, "spec", "destination"))
    server, name = text(destination.get("server")).rstrip("/"), text(destination.get("name"))
    for cluster in clusters:
        if cluster.server.rstrip("/") == server if server else cluster.name == name:
            return Cluster(server=cluster.server, name=cluster.name, project=cluster.project)
    if server == IN_CLUSTER.server or name == IN_CLUSTER.name:
        return IN_CLUSTER
    return Cluster(server=server, name=name)


def _names(entry: Object, field: str, value: str) -> bool:
    pattern = text(entry.get(field))
    return bool(pattern and value) and project_glob(pattern, value, negation=False)


def _may_name(entry: Object, cluster: Cluster) -> bool:
    """Does the entry name clusters in a way in which the name of this one is not known?"""
    return bool(
        (text(entry.get("server")) and not cluster.server) or (text(entry.get("name")) and not cluster.name)
    )


def permits_kind(project: UsedProject, group: str, kind: str, name: str) -> bool:
    """Does the project permit this cluster-scoped kind? One that is not known permits all."""
    if project.body is None:
        return True
    return kind_verdict(_decoded(project.body), group, kind, name, namespaced=False).permitted


def _denies(body: Object | None, application: Object, objects: list[Object]) -> bool:
    project = _decoded(body or {})
    return any(_denials(project, application, objects))


def _denials(project: AppProject, application: Object, objects: list[Object]) -> Iterator[bool]:
    for source in sources_of(application):
        yield not source_verdict(project, text(source.get("repoURL"))).permitted
    world_cluster = cluster_of(application)
    cluster = Cluster(server=world_cluster.server, name=world_cluster.name)
    namespace = text(dig(application, "spec", "destination", "namespace"))
    namespaces = {text(dig(obj, "metadata", "namespace")) for obj in objects} - {""}
    for each in (namespace, *sorted(namespaces)):
        yield not destination_verdict(project, cluster, each).permitted
    scopes = Scopes.from_objects(objects)
    for ref in map(ref_of, objects):
        namespaced = scopes.is_namespaced(ref.group, ref.kind) is not False
        yield not kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=namespaced).permitted

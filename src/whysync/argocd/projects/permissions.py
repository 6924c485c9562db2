"""Permissions of an AppProject: sources, destinations, kinds, and namespaces of Applications.

Mirrors `app_project_types.go`, Argo CD 3.6. A pattern that starts with `!` denies what it matches, and
allows what it does not match: a list of denials alone allows everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from whysync.argocd.api.project import AppProject, GroupKind, ProjectDestination
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.golang.glob import glob_match, path_match
from whysync.golang.regexp import matches_any
from whysync.kubernetes.api.ref import Ref


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster of Argo CD; with `project`, only Applications of that project may use it."""

    server: str = ""
    name: str = ""
    project: str = ""


class ProjectClustersUnknown(ValueError):
    """The result depends on the clusters of the project, which could not be read."""


class PermissionResult(StrEnum):
    PERMITTED = "permitted"
    NO_MATCH = "no-match"
    """Nothing in the list allows it."""
    DENIED = "denied"
    """A pattern with `!`, or a blacklist, forbids it."""
    NOT_PROJECT_SCOPED = "not-project-scoped"
    """The project permits only project-scoped clusters."""

    @property
    def permitted(self) -> bool:
        return self is PermissionResult.PERMITTED


def project_glob(pattern: str, value: str, *, negation: bool, separators: str = "") -> bool:
    if negation and pattern.startswith("!"):
        return not glob_match(pattern[1:], value, separators)
    return pattern == "*" or glob_match(pattern, value, separators)


def source_verdict(project: AppProject, repo_url: str) -> PermissionResult:
    """Is this repository permitted as source? `*` does not match a slash, unless it is the whole pattern."""
    url = normalize_git_url(repo_url)
    result = PermissionResult.NO_MATCH
    for pattern in project.spec.source_repos:
        denies = pattern.startswith("!")
        normalized = normalize_git_url(pattern.removeprefix("!"))
        if project_glob(f"!{normalized}" if denies else normalized, url, negation=True, separators="/"):
            result = PermissionResult.PERMITTED
        elif denies:
            return PermissionResult.DENIED
    return result


def destination_verdict(
    project: AppProject, cluster: Cluster | None, namespace: str, clusters: Iterable[Cluster] | None = ()
) -> PermissionResult:
    """Is the destination permitted? `clusters` are the project-scoped clusters, `None` if unknown.

    Raises `ProjectClustersUnknown` if the result depends on unknown clusters.
    """
    if cluster is None:
        return PermissionResult.NO_MATCH
    verdict = _listed(project.spec.destinations, cluster, namespace)
    if verdict.permitted and project.spec.permit_only_project_scoped_clusters:
        if clusters is None:
            raise ProjectClustersUnknown("could not retrieve project clusters")
        own = any(
            cluster.name == own_cluster.name or cluster.server == own_cluster.server
            for own_cluster in clusters
        )
        return PermissionResult.PERMITTED if own else PermissionResult.NOT_PROJECT_SCOPED
    return verdict


def _listed(destinations: Iterable[ProjectDestination], cluster: Cluster, namespace: str) -> PermissionResult:
    result = PermissionResult.NO_MATCH
    for item in destinations:
        name = cluster.name != "" and project_glob(item.name, cluster.name, negation=True)
        server = cluster.server != "" and project_glob(item.server, cluster.server, negation=True)
        inside = project_glob(item.namespace, namespace, negation=True)
        denies_name = not name and item.name.startswith("!")
        denies_server = not server and item.server.startswith("!")
        if (server or name) and inside:
            result = PermissionResult.PERMITTED
        elif (
            denies_name
            or (denies_server and inside)
            or (not inside and item.namespace.startswith("!") and server)
        ):
            return PermissionResult.DENIED
    return result


def kind_verdict(
    project: AppProject, group: str, kind: str, name: str, *, namespaced: bool
) -> PermissionResult:
    """Is the kind permitted? Cluster-scoped kinds must be in the whitelist.

    For namespaced kinds, a missing whitelist permits all and an empty one none.
    """
    spec = project.spec
    if namespaced:
        allowed = spec.namespace_resource_whitelist
        listed = allowed is None or _in(allowed, group, kind)
        denied = _in(spec.namespace_resource_blacklist or (), group, kind)
    else:
        listed = _in(spec.cluster_resource_whitelist or (), group, kind, name)
        denied = _in(spec.cluster_resource_blacklist or (), group, kind, name)
    if denied:
        return PermissionResult.DENIED
    return PermissionResult.PERMITTED if listed else PermissionResult.NO_MATCH


def _in(items: Iterable[GroupKind], group: str, kind: str, name: str | None = None) -> bool:
    return any(
        path_match(item.kind, kind)
        and path_match(item.group, group)
        and (name is None or item.name == "" or path_match(item.name, name))
        for item in items
    )


def live_verdict(
    project: AppProject, ref: Ref, cluster: Cluster | None, clusters: Iterable[Cluster] | None = ()
) -> PermissionResult:
    """Does the project permit this live object? If not, it is treated as missing."""
    verdict = kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=ref.namespace != "")
    if not verdict.permitted or not ref.namespace:
        return verdict
    return destination_verdict(project, cluster, ref.namespace, clusters)


def sync_problem(
    project: AppProject,
    ref: Ref,
    cluster: Cluster | None,
    *,
    namespaced: bool | None,
    clusters: Iterable[Cluster] | None = (),
) -> str | None:
    """Argo CD's message if a sync may not apply an object; `namespaced` is `None` for unknown kinds."""
    if namespaced is None:
        return f"failed to get API resource info for {ref.group}/{ref.kind}: unable to verify permissions"
    name = project.metadata.name
    if not kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=namespaced).permitted:
        return f"resource {ref.group}:{ref.kind} is not permitted in project {name}"
    if namespaced and not destination_verdict(project, cluster, ref.namespace, clusters).permitted:
        return f"namespace {ref.namespace} is not permitted in project '{name}'"
    return None


def app_namespace_permitted(project: AppProject, app_namespace: str, controller_namespace: str) -> bool:
    """May an Application in this namespace use the project? Always in Argo CD's own namespace."""
    if app_namespace in ("", controller_namespace):
        return True
    return matches_any(project.spec.source_namespaces, app_namespace)


def rbac_object(project: str, app_namespace: str, app_name: str, controller_namespace: str) -> str:
    """The name of an Application in RBAC policies."""
    project = project or "default"
    if controller_namespace and app_namespace not in ("", controller_namespace):
        return f"{project}/{app_namespace}/{app_name}"
    return f"{project}/{app_name}"

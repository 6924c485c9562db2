"""The AppProject: permitted sources, destinations and kinds, roles, and sync windows."""

from __future__ import annotations

from whysync.argocd.api.application import Metadata
from whysync.kubernetes.api.decode import Wire


class ProjectDestination(Wire, frozen=True):
    server: str = ""
    name: str = ""
    namespace: str = ""


class GroupKind(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""


class SyncWindow(Wire, frozen=True):
    kind: str = ""
    schedule: str = ""
    duration: str = ""
    applications: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    manual_sync: bool = False
    time_zone: str = ""
    and_operator: bool = False
    sync_overrun: bool = False
    description: str = ""


class ProjectRole(Wire, frozen=True):
    name: str = ""
    policies: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class OrphanedKey(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""


class OrphanedResources(Wire, frozen=True):
    warn: bool | None = None
    ignore: tuple[OrphanedKey, ...] = ()


class ServiceAccountFor(Wire, frozen=True):
    server: str = ""
    namespace: str = ""
    default_service_account: str = ""


class ProjectSpec(Wire, frozen=True):
    """A missing list differs from an empty one: for namespaced kinds, it permits all instead of none."""

    source_repos: tuple[str, ...] = ()
    source_namespaces: tuple[str, ...] = ()
    destinations: tuple[ProjectDestination, ...] = ()
    roles: tuple[ProjectRole, ...] = ()
    cluster_resource_whitelist: tuple[GroupKind, ...] | None = None
    cluster_resource_blacklist: tuple[GroupKind, ...] | None = None
    namespace_resource_whitelist: tuple[GroupKind, ...] | None = None
    namespace_resource_blacklist: tuple[GroupKind, ...] | None = None
    orphaned_resources: OrphanedResources | None = None
    sync_windows: tuple[SyncWindow, ...] = ()
    permit_only_project_scoped_clusters: bool = False
    destination_service_accounts: tuple[ServiceAccountFor, ...] = ()


class AppProject(Wire, frozen=True):
    metadata: Metadata = Metadata()
    spec: ProjectSpec = ProjectSpec()

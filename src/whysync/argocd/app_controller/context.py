"""Settings, projects, clusters and the repo-server of an application controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.destination import IN_CLUSTER, Destination
from whysync.argocd.app_controller.live_cache import LiveCache, ObjectUpdatedHandler
from whysync.argocd.app_controller.need_refresh import Processing, processing
from whysync.argocd.app_controller.timings import Timings
from whysync.argocd.health.assess import Assessment, assess
from whysync.argocd.projects import (
    Cluster,
    NoCluster,
    app_namespace_permitted,
    destination_cluster,
    effective_project,
)
from whysync.argocd.repo_server.repository import Repository
from whysync.argocd.repo_server.server import REVISIONS_TTL, RepoServer
from whysync.argocd.settings import Settings
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.argocd.sync.kubectl.client import Client, message_of
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.errors import DiffError

MANAGER: Final = "argocd-controller"
ClusterOpsFactory = Callable[[Destination, str], ClusterOps]
PARAMETERS: Final = "argocd-cmd-params-cm"
DEFAULT_PROJECT: Final[Object] = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": "argocd"},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}


def _ignore_update(instance: str, *, own: bool) -> None: ...


class ControllerContext:
    def __init__(
        self,
        destinations: Iterable[Destination],
        repository: Repository,
        clock: Clock,
        *,
        projects: Iterable[Object],
        config_maps: Iterable[Object],
        namespace: str,
        cluster_ops: ClusterOpsFactory | None,
        timings: Timings | None,
    ) -> None:
        self.clock = clock
        self.namespace = namespace
        self.destinations = {destination.server: destination for destination in destinations}
        self.config_maps = {
            text(dig(config_map, "metadata", "name")): config_map for config_map in config_maps
        }
        self.projects = {text(dig(project, "metadata", "name")): project for project in projects}
        self.projects.setdefault("default", DEFAULT_PROJECT)
        self.settings = self._settings()
        self._has_fixed_timings = timings is not None
        self.timings = timings or Timings.of(self.data(PARAMETERS))
        self._clients: dict[str, Client] = {}
        self.repo_server = RepoServer(repository, clock)
        self._cluster_ops_factory = cluster_ops
        self.caches = {
            server: LiveCache(destination, self.settings, ignores_no_updates=self._ignores_no_updates)
            for server, destination in self.destinations.items()
        }
        self._decoded: dict[str, AppProject] | None = None
        self._effective: dict[str, AppProject] = {}
        self.reload_settings()
        self.on_object_updated: ObjectUpdatedHandler = _ignore_update

    # --- settings --------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        maps = self.config_maps
        return Settings.from_config_maps(maps.get("argocd-cm"), maps.get(PARAMETERS))

    def reload_settings(self) -> None:
        """Applies changed settings and rebuilds the cluster caches."""
        settings = self._settings()
        if settings != self.settings:
            self.settings = settings
            for cache in self.caches.values():
                cache.rebuild(settings, ignores_no_updates=self._ignores_no_updates)
        interval = dig(self.config_maps.get("argocd-cm", {}), "data", "timeout.reconciliation")
        seconds = timedelta(seconds=settings.reconciliation_seconds)
        self.repo_server.revisions_ttl = seconds if isinstance(interval, str) and interval else REVISIONS_TTL
        self._effective = {}

    @property
    def _ignores_no_updates(self) -> bool:
        return self.data("argocd-cm").get("resource.ignoreResourceUpdatesEnabled") == "false"

    def set_config_map(self, config_map: Object) -> None:
        name = text(dig(config_map, "metadata", "name"))
        self.config_maps[name] = config_map
        self.reload_settings()
        if name == PARAMETERS and not self._has_fixed_timings:
            # The controller reads these when it starts: a change implies a restart.
            self.timings = Timings.of(self.data(PARAMETERS))

    def set_namespaces(self, destination: Destination, namespaces: tuple[str, ...]) -> None:
        """`argocd cluster set --namespace`; rebuilds the cache of the cluster."""
        destination.namespaces = () if "*" in namespaces else namespaces
        self.caches[destination.server].rebuild(self.settings, ignores_no_updates=self._ignores_no_updates)

    def data(self, name: str) -> dict[str, str]:
        data = fields(self.config_maps.get(name, {}).get("data"))
        return {key: value for key, value in data.items() if isinstance(value, str)}

    @property
    def refresh_timeout(self) -> timedelta:
        return timedelta(seconds=self.settings.reconciliation_seconds)

    @property
    def hard_refresh_timeout(self) -> timedelta:
        return timedelta(seconds=self.settings.hard_reconciliation_seconds)

    # --- projects --------------------------------------------------------------------------------

    def set_project(self, project: Object) -> None:
        self.projects[text(dig(project, "metadata", "name"))] = project
        self._decoded = None
        self._effective = {}

    def drop_project(self, name: str) -> None:
        self.projects.pop(name, None)
        self._decoded = None
        self._effective = {}

    def decoded_projects(self) -> dict[str, AppProject]:
        """The decoded projects, with what they inherit from global projects."""
        if self._decoded is None:
            decoded = {name: decode(body, AppProject)[0] for name, body in self.projects.items()}
            self._decoded = {name: project for name, project in decoded.items() if project is not None}
        if not self._effective:
            globals = self.settings.global_projects
            self._effective = {
                name: effective_project(project, globals, self._decoded)
                for name, project in self._decoded.items()
            }
        return self._effective

    def can_process_app(self, app: Object) -> bool:
        """Mirrors `canProcessApp`: other Applications are neither refreshed nor synced."""
        result = processing(app, self.namespace, self.settings.application_namespaces)
        return result is Processing.PROCESSED

    def project_of(self, app: Application) -> AppProject | str:
        """The project, or the error if the app cannot use it."""
        project = self.decoded_projects().get(app.project)
        if project is None:
            return (
                f'error getting app project "{app.project}": appproject.argoproj.io "{app.project}" not found'
            )
        if not app_namespace_permitted(project, app.namespace, self.namespace):
            return (
                f"application '{app.name}' in namespace '{app.namespace}' is not permitted to use "
                f"project '{project.metadata.name}'"
            )
        return project

    # --- clusters --------------------------------------------------------------------------------

    def process_writes(self) -> None:
        """Processes new writes to the clusters, and notifies the affected apps."""
        for cache in self.caches.values():
            cache.process_writes(self.on_object_updated)

    def written_argocd_objects(self) -> list[Key]:
        """Objects of Argo CD's kinds in its own cluster that were written since the last call."""
        cache = self.caches.get(IN_CLUSTER)
        if cache is None or not cache.written_argocd_objects:
            return []
        keys, cache.written_argocd_objects = cache.written_argocd_objects, []
        return keys

    @property
    def write_count(self) -> int:
        """The number of writes to all clusters so far."""
        return sum(len(destination.api_server.store.journal) for destination in self.destinations.values())

    @property
    def clusters(self) -> list[Cluster]:
        return [destination.cluster for destination in self.destinations.values()]

    def clusters_of(self, project: str) -> list[Cluster]:
        return [cluster for cluster in self.clusters if cluster.project == project]

    def cluster_of(self, app: Application) -> Cluster:
        """Raises `NoCluster`."""
        return destination_cluster(app.spec.destination, self.clusters)

    def cache_of(self, app: Application) -> LiveCache | None:
        try:
            return self.caches.get(self.cluster_of(app).server)
        except NoCluster:
            return None

    def cluster_ops(self, server: str, user: str) -> ClusterOps:
        destination = self.destinations[server]
        if self._cluster_ops_factory is not None:
            return self._cluster_ops_factory(destination, user)
        return KubectlClusterOps(
            destination.api_server, user=user, health=self.health, wave_delay=self.timings.wave_delay
        )

    def dry_run(self, server: str) -> Callable[[Object], Object]:
        """The result of a server-side apply dry run as `argocd-controller`, for server-side diffs."""
        client = self._clients.get(server)
        if client is None:
            client = self._clients[server] = Client(self.destinations[server].api_server)

        def applied(obj: Object) -> Object:
            ref = ref_of(obj)
            served = client.kind(ref.api_version, ref.kind)
            if served is None:
                raise DiffError(f'no matches for kind "{ref.kind}" in version "{ref.api_version}"')
            path = served.path(ref.namespace, ref.name)
            response = client.send("ssa", path, obj, manager=MANAGER, force=True, dry_run=True)
            if not response.ok or response.body is None:
                raise DiffError(message_of(response))
            return response.body

        return applied

    def health(self, obj: Object) -> Assessment | None:
        return assess(obj, self.settings.overrides, now=self.clock.now.timestamp())

"""A whole world in memory: clusters with their controllers, Argo CD, whoever else acts, and one clock.

git = GitRepository(url="https://git.example.com/shop.git", clock=clock)
git.push({"apps/shop": manifests})
simulation = Simulation(GitRepositories([git]), applications=[app], clock=clock, life=Life)
simulation.run(timedelta(minutes=10))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from whysync.argocd.app_controller.app_of_apps import definitions
from whysync.argocd.app_controller.context import GroundOf
from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.app_controller.destination import IN_CLUSTER, Destination
from whysync.argocd.app_controller.timings import Timings
from whysync.argocd.repo_server.repository import GitRepositories, Repository
from whysync.argocd.settings import Settings
from whysync.argocd.simulation.from_facts import destination_for, marked_live, repositories_for, with_project
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.timeline import Participant, Timeline

VERSION: Final = "v3.6.0"


class LogBook(Protocol):
    def all(self) -> Iterable[Log]: ...


@runtime_checkable
class Logged(Protocol):
    """A participant that keeps the logs of containers, as the kubelet does."""

    @property
    def logs(self) -> LogBook: ...


class GarbageCollectionOnly:
    """What cleans up after deletions, where nothing else lives in a cluster."""

    def __init__(self, model: ApiServer) -> None:
        self._model = model
        self._seen = -1

    def reconcile(self) -> bool:
        before = len(self._model.store.journal)
        if before == self._seen:
            return False
        self._model.settle()
        self._seen = len(self._model.store.journal)
        return self._seen != before

    def next_wakeup(self) -> datetime | None:
        return None


class Simulation:
    """`destinations` default to one empty cluster; all share one clock. `life` makes the controllers of each.

    `others` act after the controllers and before Argo CD: people with a plan, an autoscaler that is not
    modelled.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        applications: Iterable[Object],
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
        destinations: Sequence[Destination] = (),
        clock: Clock | None = None,
        life: Callable[[ApiServer], Participant] | None = None,
        others: Iterable[Participant] = (),
        namespace: str = "argocd",
        ground: GroundOf | None = None,
        pace: Timings | None = None,
        version: str = VERSION,
    ) -> None:
        self.version = version
        if not destinations:
            destinations = (Destination(model=ApiServer(clock)),)
        self.destinations = tuple(destinations)
        self.model = self.destinations[0].model
        """Of the first destination; mostly there is no other."""
        self.clock = self.model.clock
        self.repository = repository
        self.strangers: list[Object] = []
        """Live objects that were given, and that the model does not serve."""
        self.secrets: list[Object] = []
        """Of Argo CD's own, that a snapshot shows beside its settings: clusters, repositories."""
        home = next(
            (destination for destination in self.destinations if destination.server == IN_CLUSTER), None
        )
        if home is not None and isinstance(repository, GitRepositories) and repository.has_applications():
            home.model.load(definitions(namespace))
        self.argocd = ApplicationController(
            self.destinations,
            repository,
            applications=applications,
            projects=projects,
            config_maps=config_maps,
            namespace=namespace,
            ground=ground,
            pace=pace,
        )
        self.controller_managers = [
            (life or GarbageCollectionOnly)(destination.model) for destination in self.destinations
        ]
        self.participants: list[Participant] = [*self.controller_managers, *others, self.argocd]
        self.timeline = Timeline(self.clock, self.participants)

    @classmethod
    def of(
        cls,
        *,
        application: Object,
        desired: Iterable[Object],
        live: Iterable[Object],
        now: datetime,
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
        life: Callable[[ApiServer], Participant] | None = None,
        others: Iterable[Participant] = (),
        ground: GroundOf | None = None,
        namespace: str = "argocd",
        pace: Timings | None = None,
    ) -> Simulation:
        """A world as it was found: the Application with its present status, its live objects as they are, and
        `desired` as what its present commit renders to.

        The branch that it follows points at the commit that it was last compared with; push to
        `simulation.git` what comes after that. Objects of kinds that the model does not serve are in
        `strangers`. A project that is not given permits everything, unless the status says that it is
        missing.
        """
        clock = Clock(now)
        wanted, maps = tuple(desired), list(config_maps)
        repositories = repositories_for(application, wanted, clock)
        model = ApiServer(clock)
        strangers = model.load(marked_live(application, wanted, live, settings_of(maps), namespace))
        destination = destination_for(application, model)
        found = cls(
            repositories,
            applications=[application],
            projects=with_project(application, projects),
            config_maps=maps,
            destinations=[destination],
            life=life,
            others=others,
            ground=ground,
            namespace=namespace,
            pace=pace,
        )
        found.strangers = strangers
        return found

    @property
    def git(self) -> GitRepositories:
        """The repositories, where they are in memory."""
        assert isinstance(self.repository, GitRepositories)
        return self.repository

    # --- time ------------------------------------------------------------------------------------

    def run(self, duration: timedelta) -> None:
        """Raises `Restless` where at one instant everybody undoes what another does."""
        self.timeline.run(duration)

    def until(self, holds: Callable[[], bool], limit: timedelta) -> bool:
        """Let time pass until something holds; false where `limit` is over first."""
        return self.timeline.run(limit, until=holds)


def settings_of(config_maps: Iterable[Object]) -> Settings:
    maps = {text(dig(config_map, "metadata", "name")): config_map for config_map in config_maps}
    return Settings.from_config_maps(maps.get("argocd-cm"), maps.get("argocd-cmd-params-cm"))

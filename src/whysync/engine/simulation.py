"""A whole world in memory: clusters with their controllers, Argo CD, whoever else acts, and one clock.

git = GitRepository(url="https://git.example.com/shop.git", clock=clock)
git.push({"apps/shop": manifests})
simulation = Simulation(GitRepositories([git]), applications=[app], clock=clock, life=Life)
simulation.run(timedelta(minutes=10))
snapshot = simulation.snapshot()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

import msgspec

from whysync.cluster.model import Clock, Model
from whysync.cluster.timeline import Participant, Timeline
from whysync.contracts.application import Application
from whysync.contracts.decode import decode
from whysync.contracts.manifest import Manifest, Role
from whysync.contracts.ref import group_of
from whysync.contracts.snapshot import Log, Snapshot
from whysync.contracts.tree import Object, dig, text
from whysync.engine.argocd import IN_CLUSTER, ArgoCD, Destination, GitRepositories, Pace, Repository
from whysync.engine.argocd.app_of_apps import definitions
from whysync.engine.argocd.office import GroundOf
from whysync.engine.found_world import destination_for, marked_live, repositories_for, with_project
from whysync.semantics.settings import Settings

VERSION: Final = "v3.6.0"


class LogBook(Protocol):
    def all(self) -> Iterable[Log]: ...


@runtime_checkable
class Logged(Protocol):
    """A participant that keeps the logs of containers, as the kubelet does."""

    @property
    def logs(self) -> LogBook: ...


class Housekeeper:
    """What cleans up after deletions, where nothing else lives in a cluster."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._seen = -1

    def act(self) -> bool:
        before = len(self._model.store.journal)
        if before == self._seen:
            return False
        self._model.settle()
        self._seen = len(self._model.store.journal)
        return self._seen != before

    def due(self) -> datetime | None:
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
        life: Callable[[Model], Participant] | None = None,
        others: Iterable[Participant] = (),
        namespace: str = "argocd",
        ground: GroundOf | None = None,
        pace: Pace | None = None,
        version: str = VERSION,
    ) -> None:
        self.version = version
        if not destinations:
            destinations = (Destination(model=Model(clock)),)
        self.destinations = tuple(destinations)
        self.model = self.destinations[0].model
        """Of the first destination; mostly there is no other."""
        self.clock = self.model.clock
        self.repository = repository
        self.strangers: list[Object] = []
        """Live objects that were given, and that the model does not serve."""
        self.secrets: list[Object] = []
        """Of Argo CD's own, that a snapshot shows beside its settings: clusters, repositories."""
        home = next((one for one in self.destinations if one.server == IN_CLUSTER), None)
        if home is not None and isinstance(repository, GitRepositories) and repository.has_applications():
            home.model.load(definitions(namespace))
        self.argocd = ArgoCD(
            self.destinations,
            repository,
            applications=applications,
            projects=projects,
            config_maps=config_maps,
            namespace=namespace,
            ground=ground,
            pace=pace,
        )
        self.lives = [(life or Housekeeper)(one.model) for one in self.destinations]
        self.participants: list[Participant] = [*self.lives, *others, self.argocd]
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
        life: Callable[[Model], Participant] | None = None,
        others: Iterable[Participant] = (),
        ground: GroundOf | None = None,
        namespace: str = "argocd",
        pace: Pace | None = None,
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
        model = Model(clock)
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

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        app: str,
        *,
        life: Callable[[Model], Participant] | None = None,
        others: Iterable[Participant] = (),
        pace: Pace | None = None,
    ) -> Simulation:
        """The world of one Application of a snapshot (`argocd/shop`), as it was found. Raises `KeyError`."""
        application = next((one for one in snapshot.applications if one.ref.place == app), None)
        if application is None:
            raise KeyError(app)
        typed = decode(application.body, Application)[0] or Application()
        told = typed.spec.destination
        here = [one for one in snapshot.live if one.cluster in (told.name, told.server)]
        maps = [one.body for one in snapshot.settings if one.ref.kind == "ConfigMap"]
        config = next((one for one in maps if dig(one, "metadata", "name") == "argocd-cm"), None)
        return cls.of(
            application=application.body,
            desired=[one.body for one in snapshot.desired.get(app, ())],
            live=[one.body for one in here or snapshot.live if here or not one.cluster],
            now=snapshot.collected_at or typed.status.reconciled_at or Clock().now,
            projects=[one.body for one in snapshot.projects],
            config_maps=maps,
            life=life,
            others=others,
            namespace=typed.status.controller_namespace
            or text(dig(config, "metadata", "namespace"))
            or typed.namespace
            or "argocd",
            pace=pace,
        )

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

    # --- what can be seen ------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What a bundle collected now would hold. Secret values are in it: mask it before showing it."""
        argocd = self.argocd
        clusters = [
            one.secret(argocd.office.namespace) for one in self.destinations if one.server != IN_CLUSTER
        ]
        settings = [*argocd.office.config_maps.values(), *clusters, *self.secrets]
        live, events = self._objects()
        return Snapshot(
            collected_at=self.clock.now,
            argocd_version=self.version,
            applications=_manifests(argocd.applications.values(), Role.APPLICATION, "applications"),
            projects=_manifests(argocd.office.projects.values(), Role.PROJECT, "projects"),
            settings=_manifests(settings, Role.SETTINGS, "settings"),
            desired={
                name: _manifests(targets, Role.DESIRED, f"desired/{name.rpartition('/')[2]}")
                for name, targets in argocd.rendered().items()
            },
            live=live,
            events=events,
            logs=tuple(self._logs()),
            heads=tuple(self.repository.heads()),
        )

    def _objects(self) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
        live: list[Manifest] = []
        events: list[Manifest] = []
        several = len(self.destinations) > 1
        for destination in self.destinations:
            cluster = destination.name if several else ""
            for obj in destination.model.objects():
                if obj.get("kind") == "Event":
                    events.append(Manifest(obj, role=Role.EVENT, origin="events", cluster=cluster))
                elif _is_of_interest(obj):
                    live.append(Manifest(obj, role=Role.LIVE, origin="live", cluster=cluster))
        return tuple(live), tuple(events)

    def _logs(self) -> Iterator[Log]:
        for life in self.lives:
            if isinstance(life, Logged):
                for log in life.logs.all():
                    yield msgspec.structs.replace(
                        log, origin=f"logs/{log.namespace}/{log.pod}/{log.container}"
                    )
        told = [refusal.log_line for refusal in self.argocd.server.refusals]
        if told:
            yield Log(
                namespace=self.argocd.office.namespace,
                pod="argocd-server-0",
                container="argocd-server",
                lines=tuple(told),
                origin="logs/argocd-server",
            )


def settings_of(config_maps: Iterable[Object]) -> Settings:
    maps = {text(dig(one, "metadata", "name")): one for one in config_maps}
    return Settings.from_config_maps(maps.get("argocd-cm"), maps.get("argocd-cmd-params-cm"))


def _manifests(bodies: Iterable[Object], role: Role, origin: str) -> tuple[Manifest, ...]:
    return tuple(Manifest(body, role=role, origin=origin) for body in bodies)


def _is_of_interest(obj: Object) -> bool:
    """All but the leases by which the parts of a cluster show that they live."""
    return group_of(text(obj.get("apiVersion"))) != "coordination.k8s.io"

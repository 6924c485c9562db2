"""Run a scenario: the cluster, Argo CD and all other writers on one simulated clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from whysync.argocd.app_controller.context import DEFAULT_PROJECT
from whysync.argocd.app_controller.trace import TraceEvent
from whysync.argocd.simulation.simulation import NotCreated, Simulation
from whysync.argocd.simulation.world import Controllers, World, WorldCluster
from whysync.errors import Unreadable
from whysync.facts.masking import mask_snapshot
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object, dig, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.timeline import NeverSettles
from whysync.lab.admission import configurations_of
from whysync.lab.git import Git
from whysync.lab.scenario import Scenario
from whysync.lab.scheduled_actions import ScheduledAction, ScheduledActors, config_map
from whysync.lab.writers import ScenarioWriter


class ScenarioRun:
    """A running scenario. `go_on` advances time; `snapshot` is what a bundle would contain then."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clock = Clock(scenario.starts)
        git = Git(scenario, self.clock)
        self._actors = ScheduledActors(scenario, git)
        writers = (ScenarioWriter(writer, scenario.starts) for writer in scenario.cluster.writers)
        try:
            self.simulation = Simulation(
                World(
                    clock=self.clock,
                    repository=git.repositories,
                    applications=tuple(map(copy_object, scenario.applications)),
                    projects=_projects(scenario),
                    config_maps=tuple(config_map(name, data) for name, data in _settings(scenario).items()),
                    secrets=tuple(map(copy_object, scenario.argocd.objects)),
                    clusters=(_cluster(scenario),),
                    others=(self._actors, *writers),
                    version=scenario.argocd.version,
                )
            )
        except NotCreated as problem:
            object_name = f"{text(problem.obj.get('kind'))} {text(dig(problem.obj, 'metadata', 'name'))}"
            raise Unreadable(
                what=f"{scenario.origin}: {object_name} under cluster: objects: is rejected by the cluster",
                why=problem.message,
                next="objects are created in their order: a kind comes after its CustomResourceDefinition",
            ) from problem

    @property
    def api_server(self) -> ApiServer:
        return self.simulation.api_server

    @property
    def now(self) -> datetime:
        return self.clock.now

    @property
    def elapsed(self) -> timedelta:
        return self.clock.now - self.scenario.starts

    @property
    def trace(self) -> list[TraceEvent]:
        return self.simulation.argocd.trace

    @property
    def actions(self) -> list[ScheduledAction]:
        return self._actors.actions

    @property
    def applications(self) -> dict[str, Object]:
        return self.simulation.argocd.applications

    def run_for(self, duration: timedelta) -> None:
        try:
            self.simulation.run(duration)
        except NeverSettles as problem:
            raise Unreadable(
                what=f"{self.scenario.origin}: the scenario never settles",
                why=str(problem),
                next="two writers react to each other without a pause: give one of them after: 10s",
            ) from problem

    def snapshot(self) -> Snapshot:
        """The facts with secrets masked, as from every source; a copy, because masking works in place."""
        facts = snapshot_of(self.simulation)
        return mask_snapshot(
            replace(
                facts,
                applications=_copies(facts.applications),
                projects=_copies(facts.projects),
                settings=_copies(facts.settings),
                desired={name: _copies(manifests) for name, manifests in facts.desired.items()},
                live=_copies(facts.live),
                events=_copies(facts.events),
            )
        )


def play(scenario: Scenario, *, until: float | None = None) -> ScenarioRun:
    """Run from the start to the end, or to an earlier time."""
    playing = ScenarioRun(scenario)
    playing.run_for(timedelta(seconds=scenario.ends if until is None else min(until, scenario.ends)))
    return playing


def _cluster(scenario: Scenario) -> WorldCluster:
    setup = scenario.cluster
    cluster = WorldCluster(
        created=tuple(_created(scenario)),
        controllers=Controllers.ALL,
        behavior=setup.behavior,
        nodes=setup.nodes,
    )
    if not setup.server:
        return cluster
    name = setup.name or setup.server
    return replace(cluster, server=setup.server, name=name, namespaces=setup.namespaces)


def _created(scenario: Scenario) -> list[Object]:
    """The initial objects, after the namespaces they are in and before the webhook configurations."""
    objects = [copy_object(obj) for obj in scenario.cluster.objects]
    declared = {text(dig(obj, "metadata", "name")) for obj in objects if obj.get("kind") == "Namespace"}
    used = [text(dig(obj, "metadata", "namespace")) for obj in objects]
    namespaces: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(("default", "kube-system", *used))
        if name and name not in declared
    ]
    return [*namespaces, *objects, *configurations_of(scenario.cluster.webhooks)]


def _copies(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    return tuple(manifest.with_body(copy_object(manifest.body)) for manifest in manifests)


def _settings(scenario: Scenario) -> dict[str, dict[str, str]]:
    settings = {name: dict(data) for name, data in scenario.argocd.settings.items()}
    for name in ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm"):
        settings.setdefault(name, {})
    return settings


def _projects(scenario: Scenario) -> tuple[Object, ...]:
    projects = tuple(map(copy_object, scenario.projects))
    if any(dig(project, "metadata", "name") == "default" for project in projects):
        return projects
    return (copy_object(DEFAULT_PROJECT), *projects)

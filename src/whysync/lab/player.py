"""Run a scenario: the cluster, Argo CD and all other writers on one simulated clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from whysync.argocd.app_controller.destination import Destination
from whysync.argocd.app_controller.trace import TraceEvent
from whysync.argocd.simulation.commands.kubectl_cli import Terminal
from whysync.argocd.simulation.simulation import Simulation
from whysync.errors import Unreadable
from whysync.facts.masking import mask_snapshot
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.controller_manager import ControllerManager, ControllersNeverSettle
from whysync.kubernetes.timeline import TimelineNeverSettles
from whysync.lab.admission import Admission, configurations_of
from whysync.lab.git import Git
from whysync.lab.scenario import Scenario
from whysync.lab.scheduled_actions import ScheduledAction, ScheduledActors, config_map
from whysync.lab.writers import ScenarioWriter

_EVERYTHING: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": "argocd"},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}


class ScenarioRun:
    """A running scenario. `go_on` advances time; `snapshot` is what a bundle would contain then."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clock = Clock(scenario.starts)
        self.model = ApiServer(self.clock)
        self._terminal = Terminal(self.model)
        self._destination = _destination(scenario, self.model)
        self._people = ScheduledActors(scenario)
        git = Git(scenario, self.clock)
        self.simulation = Simulation(
            git.repositories,
            applications=[copy_object(application) for application in scenario.applications],
            projects=_projects(scenario),
            config_maps=[config_map(name, data) for name, data in _settings(scenario).items()],
            destinations=[self._destination],
            clock=self.clock,
            life=lambda model: ControllerManager(
                model, scenario.cluster.script, nodes=scenario.cluster.nodes
            ),
            others=[
                self._people,
                *(ScenarioWriter(self.model, writer, scenario.starts) for writer in scenario.cluster.writers),
            ],
        )
        self.simulation.secrets += [copy_object(obj) for obj in scenario.argocd.objects]
        self._set_up(scenario)
        self._people.enter(
            argocd=self.simulation.argocd,
            git=git,
            admission=Admission(self.model, scenario.cluster.webhooks),
            terminal=self._terminal,
            destination=self._destination,
        )

    def _set_up(self, scenario: Scenario) -> None:
        """Create the initial state; namespaces of objects are created too."""
        told = [copy_object(obj) for obj in scenario.cluster.objects]
        named = {text(dig(one, "metadata", "name")) for one in told if one.get("kind") == "Namespace"}
        spaces = [text(dig(one, "metadata", "namespace")) for one in told]
        for space in dict.fromkeys(("default", "kube-system", *(space for space in spaces if space))):
            if space not in named:
                self._put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, scenario)
        for obj in (*told, *configurations_of(scenario.cluster.webhooks)):
            self._put(obj, scenario)

    def _put(self, obj: Object, scenario: Scenario) -> None:
        said, failed = self._terminal.create(obj)
        if failed:
            what = f"{text(obj.get('kind'))} {text(dig(obj, 'metadata', 'name'))}"
            raise Unreadable(
                what=f"{scenario.origin}: {what} under cluster: objects: is refused by the cluster",
                why=said,
                next="objects are created in their order: a kind comes after its CustomResourceDefinition",
            )

    @property
    def now(self) -> datetime:
        return self.clock.now

    @property
    def elapsed(self) -> timedelta:
        return self.clock.now - self.scenario.starts

    @property
    def moments(self) -> list[TraceEvent]:
        return self.simulation.argocd.trace

    @property
    def deeds(self) -> list[ScheduledAction]:
        return self._people.deeds

    @property
    def applications(self) -> dict[str, Object]:
        return self.simulation.argocd.applications

    def go_on(self, duration: timedelta, *, until: Callable[[], bool] | None = None) -> None:
        try:
            if until is None:
                self.simulation.run(duration)
            else:
                self.simulation.until(until, duration)
        except (TimelineNeverSettles, ControllersNeverSettle) as problem:
            raise Unreadable(
                what=f"{self.scenario.origin}: the scenario never comes to rest",
                why=str(problem),
                next="two writers answer each other without a pause: give one of them after: 10s",
            ) from problem

    def snapshot(self) -> Snapshot:
        """The facts with secrets masked, as from every source; a copy, because masking works in place."""
        found = snapshot_of(self.simulation)
        return mask_snapshot(
            replace(
                found,
                argocd_version=self.scenario.argocd.version,
                applications=_copies(found.applications),
                projects=_copies(found.projects),
                settings=_copies(found.settings),
                desired={name: _copies(one) for name, one in found.desired.items()},
                live=_copies(found.live),
                events=_copies(found.events),
            )
        )


def play(scenario: Scenario, *, until: float | None = None) -> ScenarioRun:
    """Run from the start to the end, or to an earlier time."""
    playing = ScenarioRun(scenario)
    playing.go_on(timedelta(seconds=scenario.ends if until is None else min(until, scenario.ends)))
    return playing


def _destination(scenario: Scenario, model: ApiServer) -> Destination:
    ground = scenario.cluster
    if not ground.server:
        return Destination(model=model)
    return Destination(
        model=model,
        server=ground.server,
        name=ground.name or ground.server,
        namespaces=ground.namespaces,
    )


def _copies(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    return tuple(manifest.with_body(copy_object(manifest.body)) for manifest in manifests)


def _settings(scenario: Scenario) -> dict[str, dict[str, str]]:
    found = {name: dict(data) for name, data in scenario.argocd.settings.items()}
    for name in ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm"):
        found.setdefault(name, {})
    return found


def _projects(scenario: Scenario) -> list[Object]:
    told = [copy_object(project) for project in scenario.projects]
    if any(fields(one.get("metadata")).get("name") == "default" for one in told):
        return told
    return [copy_object(_EVERYTHING), *told]

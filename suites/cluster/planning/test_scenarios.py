"""Every lab scenario: what a plan says of its commit is what happens when a real server gets it.

On the cluster as it is, with facts that were read from the server, and on an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.cluster.planning.answering import Answering, hooks_of, is_configuration
from suites.cluster.planning.judging import Score, planned_outcome
from suites.cluster.planning.stages import NoStage, Stage, application_file, stages
from suites.cluster.planning.syncing import WHOLE, Outcome, synced
from suites.cluster.planning.twin import end
from suites.cluster.sources.loading import Unloadable, harmless, loaded
from suites.cluster.sources.real_cluster import RealCluster, collection, name
from tests.argocd.repo_server.git.conftest import GitCheckout
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object
from whysync.kubernetes.admission.webhooks import Denied, Unreachable
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.apiserver.protocol import Cluster, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.lab.library import built_in, names
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import AppPlan, PlannedCluster
from whysync.plan.planner import plan
from whysync.plan.simulations import case_in
from whysync.proofs.assumed import namespaces
from whysync.proofs.partial_objects import AssumedCrds


@pytest.fixture(scope="session")
def server(real: Cluster) -> RealCluster:
    cluster = RealCluster(real)
    cluster.install()
    return cluster


@pytest.fixture(scope="session")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    webhooks = Answering(tmp_path_factory.mktemp("webhooks"))
    yield webhooks
    webhooks.close()


@pytest.mark.parametrize("scenario", names())
def test_what_a_plan_says_happens(
    scenario: str, server: RealCluster, real: Cluster, answering: Answering, score: Score, tmp_path: Path
) -> None:
    unknown: list[str] = []
    try:
        for number, stage in enumerate(stages(built_in(scenario))):
            home = tmp_path / str(number)
            if stage.sort not in ("refused", "Succeeded"):
                raise NoStage("nothing is applied in it, or what fails is no apply")
            if stage.sort == "refused" or stage.at == "end":  # the others are here for comparison
                unknown += _on_the_cluster(stage, home, server, real, answering, score)
            if stage.sort == "refused" and stage.at == "end":
                unknown += _on_nothing(stage, home, real, score)
    except NoStage as problem:
        score.left_out[scenario] = str(problem)
    assert not unknown, "\n".join(unknown)


def _on_the_cluster(
    stage: Stage, home: Path, server: RealCluster, real: Cluster, answering: Answering, score: Score
) -> list[str]:
    at = f"scenarios/{stage.scenario.name}/{stage.at}"
    result = stage.snapshot()
    live = [
        _moved(live_object.body, answering, stage.play.api_server)
        for live_object in result.live
        if not _is_argocds(live_object)
    ]
    around = [project.body for project in (*result.projects, *result.settings, *result.applications)]
    kubeconfig = server.kubeconfig(_made(home))
    try:
        with loaded(real, [copy_object(live_object) for live_object in (*live, *around)]):
            access = KubeAccess(kubeconfig=str(kubeconfig), namespace="argocd")
            facts = read_kubernetes(access, Selection(names=(stage.name,), logs=False))
            facts = replace(facts, live=_as_they_were(facts.live, result), collected_at=result.collected_at)
            planned = _planned(stage, home, live=facts)
            there = _read(real, live)
            outcome = synced(
                real,
                _bare(stage.application),
                stage.objects(),
                there=there,
                projects=[project.body for project in result.projects],
                settings=[setting.body for setting in result.settings if setting.ref.kind == "ConfigMap"],
            )
            _clean(real, outcome)
    except Unloadable as problem:
        score.left_out[at] = f"the server does not take what the lab has: {problem}"
        return []
    run = next((run for run in planned.runs if run.cluster is PlannedCluster.LIVE), None)
    if run is None:
        return [f"{at}: not planned on the cluster as it is: {planned.notes}"]
    if WHOLE in outcome.refused and stage.sort != "refused":
        raise NoStage("Argo CD does not come as far as to apply anything")
    return score.add(at, outcome, planned_outcome(run, stage.name))


def _on_nothing(stage: Stage, home: Path, real: Cluster, score: Score) -> list[str]:
    at = f"scenarios/{stage.scenario.name}/empty"
    objects = stage.objects()
    if not objects:
        return []
    planned = _planned(stage, home / "empty")
    run = next(run for run in planned.runs if run.cluster is PlannedCluster.EMPTY)
    application = _bare(stage.application)
    desired = {stage.name: tuple(Manifest(obj, role=Role.DESIRED) for obj in objects)}
    bare = Snapshot(applications=(Manifest(application, role=Role.APPLICATION),), desired=desired)
    case = case_in(bare, stage.name)
    granted = [*AssumedCrds(case, [], objects).definitions(), *namespaces(case, [], objects)]
    with loaded(real, granted):
        there = _read(real, granted)
        outcome = synced(real, application, objects, there=there)
        _clean(real, outcome)
    return score.add(at, outcome, planned_outcome(run, stage.name))


def _planned(stage: Stage, home: Path, live: Snapshot | None = None) -> AppPlan:
    """From a real checkout: the base is committed, the head is in the work tree."""
    git = GitCheckout(_made(home) / "checkout")
    git.git("remote", "add", "origin", stage.url)
    app = {"argocd/planned.yaml": application_file(stage)}
    git.commit({"README.md": "x", **app, **stage.base})
    for path in stage.base.keys() - stage.head.keys():
        (git.folder / path).unlink()
    for path, content in stage.head.items():
        (git.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (git.folder / path).write_text(content)
    with open_checkout(str(git.folder), base="HEAD") as checkout:
        result = plan(checkout, name=stage.name, live=live, on_base=False, keep=True)
    for item in result.apps:
        if item.name == stage.name:
            return item
    raise NoStage("the commit changes nothing in what is rendered")


def _moved(body: Object, answering: Answering, model: ApiServer) -> Object:
    """Webhooks that answer in the lab answer here; those that do not are at a closed port."""
    if not is_configuration(body):
        return copy_object(body)
    judges = {hook: model.webhooks[hook] for hook in hooks_of(body) if hook in model.webhooks}
    if not judges or any(_is_dead(judge, model) for judge in judges):
        return harmless(body)
    answering.judges.update(judges)
    return answering.pointed_here(body)


def _is_dead(hook: str, model: ApiServer) -> bool:
    try:
        model.webhooks[hook]({"kind": "Pod", "metadata": {"name": "probe"}, "spec": {"containers": []}})
    except Unreachable:
        return True
    except Denied:
        pass
    return False


def _as_they_were(facts: Iterable[Manifest], result: Snapshot) -> tuple[Manifest, ...]:
    """The plan sees the webhooks where they are: behind their Services."""
    own = {
        live_object.ref.key: live_object for live_object in result.live if is_configuration(live_object.body)
    }
    return tuple(fact.with_body(own[fact.key].body) if fact.key in own else fact for fact in facts)


def _is_argocds(item: Manifest) -> bool:
    """Its own definitions are on the server, for all scenarios."""
    return item.ref.kind == "CustomResourceDefinition" and item.ref.name.endswith(".argoproj.io")


def _bare(application: Object) -> Object:
    return {key: value for key, value in application.items() if key not in ("status", "operation")}


def _read(real: Cluster, bodies: Iterable[Object]) -> list[Object]:
    answers = (real.send(Request(verb="get", path=f"{collection(body)}/{name(body)}")) for body in bodies)
    return [answer.body for answer in answers if answer.ok and answer.body is not None]


def _clean(real: Cluster, outcome: Outcome) -> None:
    for path in reversed(outcome.made):
        end(real, path)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

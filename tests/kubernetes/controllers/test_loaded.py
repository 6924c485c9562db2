"""A cluster that was found as it is: what rests stays at rest, what is changed moves on."""

from __future__ import annotations

from datetime import timedelta

from tests.kubernetes.controllers.playground import Playground
from tests.kubernetes.controllers.workloads import cron_job, image_set, job, workload
from whysync.argocd.health.assess import health_of
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Timeline

KINDS = ("Deployment", "StatefulSet", "DaemonSet")


def again(play: Playground, seconds: float) -> ApiServer:
    """The same objects in another cluster, some time later."""
    model = ApiServer(Clock(play.api_server.clock.now))
    assert model.load([copy_object(obj) for obj in play.api_server.objects()]) == []
    Timeline(model.clock, [ControllerManager(model)]).run(timedelta(seconds=seconds))
    return model


def shapes(model: ApiServer) -> dict[tuple[str, str], Object]:
    """All but events, versions and who wrote what."""
    result: dict[tuple[str, str], Object] = {}
    for obj in model.objects():
        if obj.get("kind") == "Event":
            continue
        meta = {
            key: value
            for key, value in fields(obj.get("metadata")).items()
            if key not in {"resourceVersion", "managedFields"}
        }
        result[text(obj.get("kind")), text(meta.get("name"))] = {**obj, "metadata": meta}
    return result


def test_what_rests_stays_as_it_is() -> None:
    play = Playground()
    for kind in KINDS:
        play.create(
            workload(kind, kind.lower(), replicas=2) if kind != "DaemonSet" else workload(kind, "daemonset")
        )
    play.create(job(), cron_job(suspend=True))
    play.run(300)
    before = shapes(play.api_server)
    after = shapes(again(play, 600))
    assert sorted(after) == sorted(before)
    for name, value in before.items():
        assert after[name] == value, name


def test_a_deployment_that_was_found_rolls_to_a_new_image() -> None:
    play = Playground()
    play.create(workload("Deployment", replicas=4))
    play.run(60)
    image_set(play, "deployments", "nginx:2")  # nobody has acted on it yet
    model = again(play, 600)
    result = model.store.get((("apps", "deployments"), "shop", "web"))
    assert result is not None
    verdict = health_of(result)
    assert verdict is not None
    assert str(verdict.code) == "Healthy"
    assert dig(result, "status", "updatedReplicas") == 4
    assert dig(result, "metadata", "annotations", "deployment.kubernetes.io/revision") == "2"


def test_a_job_goes_on() -> None:
    play = Playground(PodBehavior(runs_seconds=20))
    play.create(job())
    play.run(10)
    model = again(play, 120)
    result = model.store.get((("batch", "jobs"), "shop", "migrate"))
    assert result is not None
    assert dig(result, "status", "succeeded") == 1

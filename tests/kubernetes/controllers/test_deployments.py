"""Deployments and their ReplicaSets: rollouts that go through, hang, and fail."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kubernetes.controllers.playground import Playground, manifest
from tests.kubernetes.controllers.workloads import (
    condition,
    counts,
    image_set,
    images,
    owned,
    patched,
    pods_of,
    workload,
)
from whysync.json_tree import Object, dig, integer, text
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior
from whysync.kubernetes.controllers.pod_control import is_active
from whysync.kubernetes.controllers.template_hash import template_hash

PATH = "/apis/apps/v1/namespaces/shop/deployments/web"
BROKEN = PodBehavior(image="*:broken", runs_seconds=1, exit_code=1, ready_seconds=None)


def deployed(play: Playground) -> Object:
    return play.get("deployments", "web", group="apps")


def sets_of(play: Playground) -> list[Object]:
    return owned(play, "apps", "replicasets", "web")


def all_pods(play: Playground) -> list[Object]:
    return [pod for item in sets_of(play) for pod in pods_of(play, text(dig(item, "metadata", "name")))]


def revision(obj: Object) -> str:
    return text(dig(obj, "metadata", "annotations", "deployment.kubernetes.io/revision"))


def test_a_deployment_becomes_available() -> None:
    play = Playground()
    play.create(workload("Deployment", replicas=3))
    play.run(0)
    assert play.health("deployments", "web", group="apps") == "Progressing"
    assert condition(deployed(play), "Progressing")[:2] == ("True", "ReplicaSetUpdated")
    play.run(30)
    result = deployed(play)
    (made_set,) = sets_of(play)
    assert counts(result, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas") == (3, 3, 3, 3)
    assert condition(result, "Available")[:2] == ("True", "MinimumReplicasAvailable")
    name = text(dig(made_set, "metadata", "name"))
    progress = f'ReplicaSet "{name}" has successfully progressed.'
    assert condition(result, "Progressing") == ("True", "NewReplicaSetAvailable", progress)
    assert revision(result) == revision(made_set) == "1"
    assert play.health("deployments", "web", group="apps") == "Healthy"
    assert play.health("replicasets", name, group="apps") == "Healthy"
    assert play.events() == [("Normal", "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3")]


def test_names_are_those_of_a_real_cluster() -> None:
    bare: Object = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "nginx",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "Always",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        },
    }
    assert template_hash(bare) == "64586f5df"
    assert template_hash(bare, 1) != "64586f5df"
    assert template_hash(bare, -1) == template_hash(bare, 2**32 - 1)


def test_a_new_image_rolls_through() -> None:
    play = Playground()
    play.create(workload("Deployment", replicas=4))
    play.run(30)
    image_set(play, "deployments", "nginx:2")
    play.run(120)
    assert images(all_pods(play)) == {"nginx:2"}
    assert [integer(dig(item, "spec", "replicas")) for item in sorted(sets_of(play), key=revision)] == [0, 4]
    assert revision(deployed(play)) == "2"
    assert play.health("deployments", "web", group="apps") == "Healthy"


def test_going_back_takes_the_old_replica_set() -> None:
    play = Playground()
    play.create(workload("Deployment"))
    for image in ("nginx:2", "nginx:1"):
        play.run(60)
        image_set(play, "deployments", image)
    play.run(60)
    assert len(sets_of(play)) == 2
    old = min(sets_of(play), key=revision)
    new = max(sets_of(play), key=revision)
    assert (revision(old), revision(new), revision(deployed(play))) == ("2", "3", "3")
    history = dig(new, "metadata", "annotations", "deployment.kubernetes.io/revision-history")
    assert history == "1"
    assert images(pods_of(play, text(dig(new, "metadata", "name")))) == {"nginx:1"}


def test_a_broken_image_hangs_until_the_deadline_and_the_old_pods_stay() -> None:
    play = Playground(BROKEN)
    play.create(workload("Deployment", replicas=4, progressDeadlineSeconds=60))
    play.run(30)
    image_set(play, "deployments", "nginx:broken")
    play.run(30)
    assert play.health("deployments", "web", group="apps") == "Progressing"
    play.run(60)
    status, reason, message = condition(deployed(play), "Progressing")
    assert (status, reason) == ("False", "ProgressDeadlineExceeded")
    assert message.endswith("has timed out progressing.")
    assert condition(deployed(play), "Available")[0] == "True"
    assert play.health("deployments", "web", group="apps") == "Degraded"
    assert integer(dig(deployed(play), "status", "availableReplicas")) >= 3
    image_set(play, "deployments", "nginx:1")
    play.run(60)
    assert play.health("deployments", "web", group="apps") == "Healthy"


def test_a_quota_shows_as_replica_failure_and_goes_when_there_is_room() -> None:
    play = Playground()
    play.create(manifest("ResourceQuota", "small", {"spec": {"hard": {"pods": "1"}}}))
    play.run(1)
    play.create(workload("Deployment", replicas=2))
    play.run(20)
    status, reason, message = condition(deployed(play), "ReplicaFailure")
    assert (status, reason) == ("True", "FailedCreate")
    assert "is forbidden: exceeded quota: small" in message
    (made_set,) = sets_of(play)
    result = play.events(text(dig(made_set, "metadata", "name")))
    assert ("Warning", "FailedCreate") in {(kind, reason) for kind, reason, _ in result}
    patched(play, "/api/v1/namespaces/shop/resourcequotas/small", {"spec": {"hard": {"pods": "5"}}})
    play.run(1200)
    assert condition(deployed(play), "ReplicaFailure") == ("", "", "")
    assert play.health("deployments", "web", group="apps") == "Healthy"


def test_a_missing_service_account_stops_the_pods() -> None:
    play = Playground()
    play.create(workload("Deployment", pod={"serviceAccountName": "robot"}))
    play.run(5)
    (made_set,) = sets_of(play)
    name = text(dig(made_set, "metadata", "name"))
    assert pods_of(play, name) == []
    assert 'serviceaccount "robot" not found' in condition(made_set, "ReplicaFailure")[2]
    play.create(manifest("ServiceAccount", "robot", {}))
    play.run(60)
    assert len(pods_of(play, name)) == 1


def test_pods_that_crash_after_the_rollout_do_not_run_out_of_time() -> None:
    play = Playground(PodBehavior(runs_seconds=30, exit_code=1))
    play.create(workload("Deployment", progressDeadlineSeconds=60))
    play.run(3600)
    assert condition(deployed(play), "Progressing")[:2] == ("True", "NewReplicaSetAvailable")
    assert condition(deployed(play), "Available")[0] == "False"
    assert play.health("deployments", "web", group="apps") == "Progressing"
    (controller,) = [
        controller for controller in play.life.all.controllers if controller.name == "deployment"
    ]
    assert controller.next_wakeup() is None  # it need not look again every second


def test_recreate_waits_for_the_old_pods() -> None:
    play = Playground()
    play.create(workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    play.run(30)
    image_set(play, "deployments", "nginx:2")
    image_sets: list[set[str]] = []
    for _ in range(90):
        play.run(1)
        image_sets.append(images(all_pods(play)))
    assert {"nginx:1", "nginx:2"} not in image_sets
    assert image_sets[-1] == {"nginx:2"}
    assert play.health("deployments", "web", group="apps") == "Healthy"


def test_a_paused_deployment_scales_and_does_not_roll() -> None:
    play = Playground()
    play.create(workload("Deployment", replicas=1))
    play.run(30)
    patched(play, PATH, {"spec": {"paused": True}})
    image_set(play, "deployments", "nginx:2")
    patched(play, PATH, {"spec": {"replicas": 3}})
    play.run(30)
    assert condition(deployed(play), "Progressing")[:2] == ("Unknown", "DeploymentPaused")
    assert len(sets_of(play)) == 1
    assert play.health("deployments", "web", group="apps") == "Suspended"
    patched(play, PATH, {"spec": {"paused": False}})
    play.run(120)
    assert len(sets_of(play)) == 2
    assert play.health("deployments", "web", group="apps") == "Healthy"


def test_the_history_has_a_limit() -> None:
    play = Playground()
    play.create(workload("Deployment", revisionHistoryLimit=1))
    for number in range(2, 6):
        play.run(90)
        image_set(play, "deployments", f"nginx:{number}")
    play.run(90)
    assert sorted(revision(item) for item in sets_of(play)) == ["4", "5"]


def test_pods_that_nobody_owns_are_taken_in() -> None:
    play = Playground()
    play.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "lonely", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
        }
    )
    play.run(10)
    play.create(workload("ReplicaSet", replicas=1))
    play.run(10)
    assert [dig(pod, "metadata", "name") for pod in pods_of(play, "web")] == ["lonely"]


def test_a_stopped_controller_does_nothing() -> None:
    play = Playground(behavior=Behavior(stopped=frozenset({"deployment"})))
    play.create(workload("Deployment"))
    play.run(30)
    assert sets_of(play) == []
    assert counts(deployed(play), "observedGeneration") == (0,)


def test_a_slow_controller_comes_later() -> None:
    play = Playground(behavior=Behavior(slow={"deployment": 20}))
    play.create(workload("Deployment"))
    play.run(19)
    assert sets_of(play) == []
    play.run(2)
    assert len(sets_of(play)) == 1


def test_the_same_start_gives_the_same_end() -> None:
    def told() -> bytes:
        play = Playground(BROKEN)
        play.create(workload("Deployment", replicas=3), workload("StatefulSet", "db", serviceName="db"))
        play.run(20)
        image_set(play, "deployments", "nginx:broken")
        play.run(900)
        return msgspec.json.encode(play.api_server.objects())

    assert told() == told()


@settings(max_examples=15, deadline=None)
@given(
    replicas=st.integers(0, 7),
    surge=st.sampled_from([0, 1, 3, "25%", "100%"]),
    gap=st.sampled_from([0, 1, 2, "25%", "50%"]),
    steps=st.lists(st.sampled_from(["nginx:2", "nginx:3", "nginx:broken", "scale"]), max_size=3),
)
def test_a_rollout_keeps_its_bounds(
    replicas: int, surge: int | str, gap: int | str, steps: list[str]
) -> None:
    play = Playground(BROKEN)
    how: Object = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": gap}}
    if surge == 0 and gap == 0:
        how = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    play.create(workload("Deployment", replicas=replicas, strategy=how))
    play.run(60)
    for step in [*steps, "nginx:9"]:
        if step == "scale":
            patched(play, PATH, {"spec": {"replicas": replicas + 2}})
        else:
            image_set(play, "deployments", step)
        for _ in range(25):
            play.run(1)
            number = integer(dig(deployed(play), "spec", "replicas"), 1)
            sets = sets_of(play)
            active = [pod for pod in all_pods(play) if is_active(pod)]
            limit = max(
                int(text(dig(item, "metadata", "annotations", "deployment.kubernetes.io/max-replicas")))
                for item in sets
            )
            assert len(active) <= max(limit, number)
    play.run(300)
    result = deployed(play)
    number = integer(dig(result, "spec", "replicas"), 1)
    assert counts(result, "replicas", "updatedReplicas", "availableReplicas") == (number, number, number)
    assert play.health("deployments", "web", group="apps") == "Healthy"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_deleting_a_workload_deletes_its_pods(kind: str) -> None:
    play = Playground()
    play.create(workload(kind))
    play.run(30)
    play.delete("apps/v1", kind, "web")
    play.run(60)
    assert [obj for _, obj in play.api_server.store.within(("", "pods"))] == []

"""StatefulSets: one pod after the other, claims of their own, updates from the last to the first."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground
from tests.kubernetes.controllers.workloads import (
    counts,
    image_set,
    images,
    owned,
    patched,
    pods_of,
    workload,
)
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.controllers.behavior import PodBehavior

PATH = "/apis/apps/v1/namespaces/shop/statefulsets/web"
CLAIM: Object = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful(*, pod: Object | None = None, **spec: Json) -> Object:
    body = workload("StatefulSet", pod=pod)
    return {**body, "spec": {**fields(body.get("spec")), "serviceName": "web", **spec}}


def names(play: Playground) -> list[str]:
    return [text(dig(pod, "metadata", "name")) for pod in pods_of(play, "web")]


def claims(play: Playground) -> list[str]:
    return [object_key[2] for object_key, _ in play.api_server.store.within(("", "persistentvolumeclaims"))]


def live_stateful_set(play: Playground) -> Object:
    return play.get("statefulsets", "web", group="apps")


def test_pods_are_created_in_order() -> None:
    play = Playground(PodBehavior(ready_seconds=5, pull_seconds=0, start_seconds=0))
    play.create(stateful(replicas=3))
    states: list[list[str]] = []
    for _ in range(30):
        play.run(1)
        if not states or names(play) != states[-1]:
            states.append(names(play))
    assert states == [["web-0"], ["web-0", "web-1"], ["web-0", "web-1", "web-2"]]
    assert counts(
        live_stateful_set(play), "replicas", "readyReplicas", "currentReplicas", "updatedReplicas"
    ) == (
        3,
        3,
        3,
        3,
    )
    assert play.health("statefulsets", group="apps") == "Healthy"
    (revision,) = owned(play, "apps", "controllerrevisions", "web")
    assert dig(live_stateful_set(play), "status", "currentRevision") == dig(revision, "metadata", "name")


def test_the_first_that_is_never_ready_holds_the_others() -> None:
    play = Playground(PodBehavior(ready_seconds=None))
    play.create(stateful(replicas=3))
    play.run(600)
    assert names(play) == ["web-0"]
    assert play.health("statefulsets", group="apps") == "Progressing"


def test_parallel_starts_all_at_once() -> None:
    play = Playground(PodBehavior(ready_seconds=None))
    play.create(stateful(replicas=3, podManagementPolicy="Parallel"))
    play.run(0)
    assert names(play) == ["web-0", "web-1", "web-2"]


def test_an_update_goes_from_the_last_to_the_partition() -> None:
    play = Playground()
    how: Object = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    play.create(stateful(replicas=3, updateStrategy=how))
    play.run(60)
    image_set(play, "statefulsets", "nginx:2")
    play.run(300)
    by_name = {name: images([pod]) for name, pod in zip(names(play), pods_of(play, "web"), strict=True)}
    assert by_name == {"web-0": {"nginx:1"}, "web-1": {"nginx:2"}, "web-2": {"nginx:2"}}
    assert counts(live_stateful_set(play), "currentReplicas", "updatedReplicas") == (1, 2)
    assert play.health("statefulsets", group="apps") == "Healthy"
    patched(play, PATH, {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    play.run(300)
    assert images(pods_of(play, "web")) == {"nginx:2"}
    assert dig(live_stateful_set(play), "status", "currentRevision") == dig(
        live_stateful_set(play), "status", "updateRevision"
    )


def test_on_delete_waits_for_somebody_to_delete() -> None:
    play = Playground()
    play.create(stateful(updateStrategy={"type": "OnDelete"}))
    play.run(30)
    image_set(play, "statefulsets", "nginx:2")
    play.run(60)
    assert images(pods_of(play, "web")) == {"nginx:1"}
    play.delete("v1", "Pod", "web-0")
    play.run(120)
    assert images(pods_of(play, "web")) == {"nginx:2"}


def test_claims_stay_by_default_and_go_where_the_policy_says_so() -> None:
    play = Playground()
    play.create(stateful(replicas=2, volumeClaimTemplates=[CLAIM]))
    play.run(60)
    assert claims(play) == ["data-web-0", "data-web-1"]
    patched(play, PATH, {"spec": {"replicas": 1}})
    play.run(120)
    assert claims(play) == ["data-web-0", "data-web-1"]
    assert names(play) == ["web-0"]
    policy: Object = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    patched(play, PATH, {"spec": {"replicas": 2, "persistentVolumeClaimRetentionPolicy": policy}})
    play.run(120)
    patched(play, PATH, {"spec": {"replicas": 1}})
    play.run(120)
    assert claims(play) == ["data-web-0"]
    play.delete("apps/v1", "StatefulSet", "web")
    play.run(120)
    assert claims(play) == []


def test_a_refused_pod_is_told() -> None:
    play = Playground()
    play.create(stateful(pod={"serviceAccountName": "robot"}))
    play.run(5)
    assert names(play) == []
    kind, reason, message = play.events("web")[0]
    assert (kind, reason) == ("Warning", "FailedCreate")
    assert message.startswith("Create Pod web-0 in StatefulSet web failed error: pods ")

"""Pods on their way, and how the API server, Argo CD and a diagnosis see them."""

from __future__ import annotations

import pytest

from tests.kubernetes.controllers.playground import Playground, manifest, pod
from whysync.diagnosis.pods import log_root_cause
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.behavior import LogLine, PodBehavior


def crashing(**more: object) -> PodBehavior:
    return PodBehavior(runs_seconds=2, exit_code=1, **more)  # pyright: ignore[reportArgumentType]  # by name


def test_a_pod_starts_and_is_ready() -> None:
    play = Playground()
    play.create(pod())
    play.run(0)
    assert play.phase() == "Pending"
    assert play.waiting() == ("ContainerCreating", "")
    assert play.health() == "Progressing"
    play.run(10)
    assert play.phase() == "Running"
    assert play.condition("Ready")["status"] == "True"
    assert play.health() == "Healthy"
    assert [reason for _, reason, _ in play.events()] == [
        "Scheduled",
        "Pulling",
        "Pulled",
        "Created",
        "Started",
    ]
    assert not play.story().failing


def test_the_second_pod_of_a_node_finds_its_image() -> None:
    play = Playground(nodes=1)
    play.create(pod("one"))
    play.run(10)
    play.create(pod("two"))
    play.run(10)
    assert (
        "Normal",
        "Pulled",
        'Container image "nginx:1" already present on machine and can be accessed by the pod',
    ) in (play.events("two"))


def test_a_container_that_crashes_waits_longer_each_time() -> None:
    play = Playground(crashing(log=(LogLine(text="panic: no config", after_seconds=1),)))
    play.create(pod())
    play.run(5)
    assert play.container()["restartCount"] == 1  # the first restart does not wait
    delays: list[str] = []
    for _ in range(900):
        play.run(1)
        reason, message = play.waiting()
        if reason == "CrashLoopBackOff" and message.split()[1] not in delays:
            delays.append(message.split()[1])
    assert delays == ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"]
    assert play.phase() == "Running"
    assert dig(play.container(), "lastState", "terminated", "exitCode") == 1
    assert play.health() == "Degraded"
    story = play.story()
    assert [(item.name, item.waiting, item.exit_code) for item in story.failing] == [
        ("web", "CrashLoopBackOff", 1)
    ]
    assert play.life.logs.lines("shop", "web", "web", previous=True) == ["panic: no config"]


def test_a_long_run_forgives_earlier_crashes() -> None:
    play = Playground(PodBehavior(runs_seconds=700, exit_code=1))
    play.create(pod())
    play.run(4000)
    assert play.container()["restartCount"] == 5
    assert "running" in fields(play.container()["state"])


def test_memory_runs_out() -> None:
    play = Playground(PodBehavior(runs_seconds=2, reason="OOMKilled"))
    play.create(pod())
    play.run(20)
    ended = fields(dig(play.container(), "lastState", "terminated"))
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")
    assert play.story().failing[0].exit_reason == "OOMKilled"


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", 0),
        ("Never", 3, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 3, "Running", 1),
        ("Always", 0, "Running", 1),
    ],
)
def test_what_the_restart_policy_makes_of_an_end(policy: str, code: int, phase: str, restarts: int) -> None:
    play = Playground(PodBehavior(runs_seconds=5, exit_code=code))
    play.create(pod(restartPolicy=policy))
    play.run(12)
    assert play.phase() == phase
    assert integer(play.container()["restartCount"]) == restarts


def test_a_pod_that_may_end_ends_by_itself() -> None:
    play = Playground()
    play.create(pod(restartPolicy="Never"))
    play.run(20)
    assert play.phase() == "Succeeded"
    assert play.health() == "Healthy"
    assert play.condition("Ready")["reason"] == "PodCompleted"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("missing", "rpc error: code = NotFound desc = failed to pull and unpack image"),
        ("denied", "pull access denied, repository does not exist or may require authorization"),
    ],
)
def test_an_image_that_cannot_be_pulled(how: str, expected: str) -> None:
    play = Playground(PodBehavior(pull="missing" if how == "missing" else "denied"))
    play.create(pod(container={"image": "ghcr.io/acme/web:nope"}))
    play.run(1)
    assert play.waiting()[0] == "ErrImagePull"
    assert expected in play.waiting()[1]
    play.run(6)
    reason, message = play.waiting()
    assert reason == "ImagePullBackOff"
    assert message.startswith('Back-off pulling image "ghcr.io/acme/web:nope": ErrImagePull: rpc error')
    assert play.phase() == "Pending"
    assert play.health() == "Degraded"
    assert play.story().failing[0].waiting == "ImagePullBackOff"
    reasons = {(kind, reason) for kind, reason, _ in play.events()}
    assert {("Warning", "Failed"), ("Normal", "BackOff")} <= reasons


def test_pulls_are_tried_ever_more_seldom() -> None:
    play = Playground(PodBehavior(pull="missing"))
    play.create(pod())
    play.run(3600)
    pulls = sum(
        integer(event["count"])
        for _, event in play.api_server.store.within(("", "events"))
        if event["reason"] == "Pulling"
    )
    assert 14 <= pulls <= 20


def test_an_image_that_comes_late() -> None:
    play = Playground(PodBehavior(pull="missing", times=2))
    play.create(pod())
    play.run(60)
    assert play.phase() == "Running"


def test_a_name_that_is_no_image() -> None:
    play = Playground()
    play.create(pod(container={"image": "nginx:1:2"}))
    play.run(5)
    assert play.waiting()[0] == "InvalidImageName"
    assert play.health() == "Progressing"  # Argo CD knows errors by the end of their name


_ENV = [
    ({"envFrom": [{"secretRef": {"name": "db"}}]}, 'secret "db" not found'),
    ({"envFrom": [{"configMapRef": {"name": "db"}}]}, 'configmap "db" not found'),
    (
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "has", "key": "nope"}}}]},
        "couldn't find key nope in Secret shop/has",
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "nope"}}}]},
        "couldn't find key nope in ConfigMap shop/map",
    ),
]


@pytest.mark.parametrize(("container", "expected"), _ENV)
def test_a_container_whose_values_are_missing(container: Object, expected: str) -> None:
    play = Playground()
    play.create(
        manifest("Secret", "has", {"stringData": {"a": "b"}}),
        manifest("ConfigMap", "map", {"data": {"a": "b"}}),
    )
    play.create(pod(container=container))
    play.run(30)
    assert play.waiting() == ("CreateContainerConfigError", expected)
    assert play.health() == "Degraded"
    assert ("Warning", "Failed", f"Error: {expected}") in play.events()
    assert play.story().failing[0].waiting_message == expected


def test_it_starts_once_its_secret_is_there() -> None:
    play = Playground()
    play.create(pod(container={"envFrom": [{"secretRef": {"name": "db"}}]}))
    play.run(3600)
    play.create(manifest("Secret", "other", {"stringData": {"a": "b"}}))
    play.run(20)
    play.create(manifest("Secret", "db", {"stringData": {"a": "b"}}))
    play.run(20)
    assert play.phase() == "Running"


def test_optional_values_are_not_waited_for() -> None:
    play = Playground()
    reference: Object = {"name": "db", "key": "k", "optional": True}
    env: list[Json] = [{"name": "A", "valueFrom": {"secretKeyRef": reference}}]
    volume: Json = {"name": "v", "configMap": {"name": "nope", "optional": True}}
    play.create(pod(container={"env": env}, volumes=[volume]))
    play.run(10)
    assert play.phase() == "Running"


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"secret": {"secretName": "db"}}, 'secret "db" not found'),
        ({"configMap": {"name": "db"}}, 'configmap "db" not found'),
        ({"projected": {"sources": [{"secret": {"name": "db"}}]}}, 'secret "db" not found'),
        (
            {"secret": {"secretName": "has", "items": [{"key": "x", "path": "x"}]}},
            "references non-existent secret key: x",
        ),
    ],
)
def test_a_volume_that_cannot_be_mounted(volume: Object, expected: str) -> None:
    play = Playground()
    play.create(manifest("Secret", "has", {"stringData": {"a": "b"}}))
    play.create(pod(volumes=[{"name": "conf", **volume}]))
    play.run(60)
    assert play.waiting() == ("ContainerCreating", "")
    assert play.phase() == "Pending"
    assert play.health() == "Progressing"
    assert (
        "Warning",
        "FailedMount",
        f'MountVolume.SetUp failed for volume "conf" : {expected}',
    ) in play.events()
    play.create(
        manifest("Secret", "db", {"stringData": {"x": "b"}}),
        manifest("ConfigMap", "db", {"data": {"a": "b"}}),
    )
    play.run(130)
    assert (play.phase() == "Running") is ("non-existent" not in expected)


def test_init_containers_go_one_after_the_other() -> None:
    play = Playground()
    inits: list[Json] = [{"name": "a", "image": "busybox:1"}, {"name": "b", "image": "busybox:1"}]
    play.create(pod(initContainers=inits))
    play.run(2)
    assert play.waiting()[0] == "PodInitializing"
    assert play.condition("Initialized")["message"] == "containers with incomplete status: [a b]"
    play.run(20)
    ended = [dig(play.container(index=at, init=True), "state", "terminated", "finishedAt") for at in (0, 1)]
    assert text(ended[0] or "") < text(ended[1] or "")
    assert play.phase() == "Running"
    assert play.condition("Initialized")["status"] == "True"


def test_an_init_container_that_fails_is_tried_again() -> None:
    play = Playground(PodBehavior(container="wait", runs_seconds=1, exit_code=1))
    play.create(pod(initContainers=[{"name": "wait", "image": "busybox:1"}]))
    play.run(60)
    assert play.waiting(init=True)[0] == "CrashLoopBackOff"
    assert play.phase() == "Pending"
    assert play.story().failing[0].init


def test_an_init_container_that_fails_for_good_fails_the_pod() -> None:
    play = Playground(PodBehavior(container="wait", runs_seconds=1, exit_code=1))
    play.create(pod(initContainers=[{"name": "wait", "image": "busybox:1"}], restartPolicy="Never"))
    play.run(60)
    assert play.phase() == "Failed"


def test_a_sidecar_runs_beside_and_ends_with_the_pod() -> None:
    play = Playground()
    side: Json = {"name": "side", "image": "envoy:1", "restartPolicy": "Always"}
    play.create(pod(initContainers=[side], restartPolicy="Never"))
    play.run(6)
    assert play.phase() == "Running"
    assert play.container(init=True)["ready"] is True
    play.run(20)
    assert play.phase() == "Succeeded"
    assert "terminated" in fields(play.container(init=True)["state"])


def test_a_sidecar_that_crashes_does_not_stop_the_others() -> None:
    play = Playground(PodBehavior(container="side", runs_seconds=3, exit_code=1))
    side: Json = {"name": "side", "image": "envoy:1", "restartPolicy": "Always"}
    play.create(pod(initContainers=[side]))
    play.run(300)
    assert play.phase() == "Running"
    assert play.waiting(init=True)[0] == "CrashLoopBackOff"
    assert "running" in fields(play.container()["state"])
    assert play.condition("Ready")["message"] == "containers with unready status: [side]"
    assert play.condition("Initialized")["status"] == "True"


def test_readiness_takes_as_long_as_the_probe_needs() -> None:
    probe: Object = {"httpGet": {"port": 80}, "initialDelaySeconds": 5, "periodSeconds": 10}
    play = Playground(PodBehavior(ready_seconds=12))
    play.create(pod(container={"readinessProbe": probe}))
    play.run(16)
    assert play.condition("Ready")["message"] == "containers with unready status: [web]"
    assert (
        "Warning",
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    ) in play.events()
    play.run(2)
    assert play.condition("Ready")["status"] == "True"


def test_a_pod_that_is_never_ready() -> None:
    play = Playground(PodBehavior(ready_seconds=None, probe_output="HTTP probe failed with statuscode: 500"))
    play.create(pod(container={"readinessProbe": {"httpGet": {"port": 80}}}))
    play.run(3600)
    assert play.phase() == "Running"
    assert play.condition("Ready")["status"] == "False"
    assert play.health() == "Progressing"


def test_a_liveness_probe_that_fails_restarts_the_container() -> None:
    probe: Object = {"tcpSocket": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2}
    play = Playground(PodBehavior(live_seconds=8, times=1))
    play.create(pod(container={"livenessProbe": probe}))
    play.run(60)
    assert play.container()["restartCount"] == 1
    assert ("Normal", "Killing", "Container web failed liveness probe, will be restarted") in play.events()
    assert dig(play.container(), "lastState", "terminated", "exitCode") == 137


def test_a_startup_probe_that_gives_up_too_soon() -> None:
    probe: Object = {"httpGet": {"port": 80}, "periodSeconds": 2, "failureThreshold": 3}
    play = Playground(PodBehavior(ready_seconds=30))
    play.create(pod(container={"startupProbe": probe}))
    play.run(120)
    assert play.waiting()[0] == "CrashLoopBackOff"
    assert ("Normal", "Killing", "Container web failed startup probe, will be restarted") in play.events()


def test_a_pod_is_active_too_long() -> None:
    play = Playground(PodBehavior(runs_seconds=1000))
    play.create(pod(restartPolicy="Never", activeDeadlineSeconds=30))
    play.run(60)
    assert (play.phase(), play.status()["reason"]) == ("Failed", "DeadlineExceeded")
    assert play.status()["message"] == "Pod was active on the node longer than the specified deadline"
    assert play.health() == "Degraded"


def test_a_deleted_pod_stops_and_goes() -> None:
    play = Playground(PodBehavior(stop_seconds=10))
    play.create(pod())
    play.run(10)
    play.delete("v1", "Pod", "web")
    play.run(5)
    assert play.health() == "Progressing"
    assert ("Normal", "Killing", "Stopping container web") in play.events()
    play.run(6)
    assert play.find("pods", "web") is None
    assert play.life.logs.all() == []


def test_a_grace_period_ends_what_does_not_stop() -> None:
    play = Playground(PodBehavior(stop_seconds=1000))
    play.create(pod(terminationGracePeriodSeconds=7))
    play.run(10)
    play.delete("v1", "Pod", "web")
    play.run(6)
    assert play.find("pods", "web") is not None
    play.run(2)
    assert play.find("pods", "web") is None


def test_a_stopped_pod_with_a_finalizer_is_not_removed() -> None:
    play = Playground()
    finalized = pod()
    fields(finalized["metadata"])["finalizers"] = ["example.com/hold"]
    play.create(finalized)
    play.run(10)
    play.delete("v1", "Pod", "web")
    play.run(60)
    assert play.phase() == "Failed"


def test_last_words_go_into_the_status_where_the_container_wants_it() -> None:
    play = Playground(PodBehavior(runs_seconds=2, exit_code=2, log=(LogLine(text="no such table: users"),)))
    container: Object = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    play.create(pod(container=container, restartPolicy="Never"))
    play.run(30)
    assert dig(play.container(), "state", "terminated", "message") == "no such table: users\n"
    assert log_root_cause(play.story().logs) is not None or play.story().failing[0].exit_message


def test_readiness_gates_are_waited_for() -> None:
    play = Playground()
    play.create(pod(readinessGates=[{"conditionType": "lb.example.com/ready"}]))
    play.run(20)
    ready = play.condition("Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    assert play.condition("ContainersReady")["status"] == "True"


def test_the_kubelet_owns_what_it_wrote() -> None:
    play = Playground()
    play.create(pod())
    play.run(10)
    entries = [fields(raw) for raw in items(dig(play.get("pods", "web"), "metadata", "managedFields"))]
    own = next(entry for entry in entries if entry["manager"] == "kubelet")
    assert own["subresource"] == "status"
    owned = fields(dig(own, "fieldsV1", "f:status"))
    assert "f:phase" in owned
    assert list(fields(owned["f:podIPs"])) == [".", f'k:{{"ip":"{play.status()["podIP"]}"}}']


def test_missing_credentials_of_a_registry_are_told() -> None:
    play = Playground(PodBehavior(pull="denied"))
    play.create(pod(imagePullSecrets=[{"name": "regcred"}]))
    play.run(5)
    message = (
        "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed."
    )
    assert ("Warning", "FailedToRetrieveImagePullSecret", message) in play.events()


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({"port": 90}, 'Get "http://{}:90/": dial tcp {}:90: connect: connection refused'),
        ({"port": "http", "path": "/health"}, "HTTP probe failed with statuscode: 404"),
        ({"port": "http", "path": "/ready?full=1"}, ""),
        ({"port": 8081}, ""),
    ],
)  # fmt: skip
def test_a_program_answers_probes_where_it_serves(probe: Object, expected: str) -> None:
    play = Playground(PodBehavior(serves=("8080/ready", "8081")))
    ports: list[Json] = [{"name": "http", "containerPort": 8080}]
    play.create(pod(container={"ports": ports, "readinessProbe": {"httpGet": probe}}))
    play.run(30)
    ready = play.condition("Ready")["status"]
    result = [message for _, reason, message in play.events() if reason == "Unhealthy"]
    if not expected:
        assert (ready, result) == ("True", [])
        return
    address = text(play.status()["podIP"])
    assert ready == "False"
    assert set(result) == {f"Readiness probe failed: {expected.format(address, address)}"}


def test_a_liveness_probe_at_a_port_where_nobody_listens_kills() -> None:
    play = Playground(PodBehavior(serves=("8080",)))
    play.create(pod(container={"livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 5}}))
    play.run(20)
    assert ("Normal", "Killing", "Container web failed liveness probe, will be restarted") in play.events()


@pytest.mark.parametrize(("limit", "killed"), [("256Mi", True), ("300Mi", False), ("", False)])
def test_more_memory_than_its_limit_has_it_killed(limit: str, *, killed: bool) -> None:
    play = Playground(PodBehavior(memory="300Mi", memory_seconds=10))
    play.create(pod(container={"resources": {"limits": {"memory": limit}} if limit else {}}))
    play.run(8)
    assert play.container()["restartCount"] == 0
    play.run(10)
    last = fields(dig(play.container(), "lastState", "terminated"))
    assert (last.get("reason"), last.get("exitCode")) == (("OOMKilled", 137) if killed else (None, None))


@pytest.mark.parametrize(
    ("pod_says", "container_says", "user", "why"),
    [
        ({"runAsNonRoot": True}, {}, "0", "container has runAsNonRoot and image will run as root"),
        ({}, {"runAsNonRoot": True}, "node", "container has runAsNonRoot and image has non-numeric user"),
        ({"runAsUser": 0}, {"runAsNonRoot": True}, "", "container's runAsUser breaks non-root policy"),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False}, "0", ""),
        ({"runAsNonRoot": True}, {"runAsUser": 1000}, "0", ""),
        ({"runAsNonRoot": True}, {}, "1000", ""),
        ({"runAsNonRoot": True}, {}, "", ""),
        ({}, {}, "0", ""),
    ],
)  # fmt: skip
def test_a_container_that_must_not_run_as_root(
    pod_says: Object, container_says: Object, user: str, why: str
) -> None:
    play = Playground(PodBehavior(image_user=user))
    play.create(pod(container={"securityContext": container_says}, securityContext=pod_says))
    play.run(30)
    reason, message = play.waiting()
    assert (reason, bool(message)) == (("CreateContainerConfigError", True) if why else ("", False))
    assert message.startswith(why)
    if why:
        assert message.endswith("container: web)")


@pytest.mark.parametrize(
    ("more", "killed"),
    [
        ({}, True),
        ({"startupProbe": {"tcpSocket": {"port": 80}, "failureThreshold": 30}}, False),
        ({"livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 60}}, False),
        ({"livenessProbe": {"tcpSocket": {"port": 80}, "failureThreshold": 9}}, False),
    ],
)
def test_a_liveness_probe_kills_what_starts_slowly(more: Object, *, killed: bool) -> None:
    play = Playground(PodBehavior(up_seconds=45))
    play.create(pod(container={"livenessProbe": {"tcpSocket": {"port": 80}}, **more}))
    play.run(120)
    restarts = integer(play.container()["restartCount"])
    assert (restarts > 0) is killed
    address = text(play.status()["podIP"])
    message = f"Liveness probe failed: dial tcp {address}:80: connect: connection refused"
    assert (("Warning", "Unhealthy", message) in play.events()) is killed

"""What holds of pods whatever the script says, and that the same start gives the same end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kubernetes.controllers.playground import Playground, manifest, pod, service
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.controllers.behavior import LogLine, PodBehavior

_SECONDS = st.sampled_from([0.0, 0.5, 1.0, 3.0, 12.0, 700.0])
_PARTS = st.builds(
    PodBehavior,
    container=st.sampled_from(["*", "init", "side"]),
    pull=st.sampled_from(["", "missing", "denied", "slow"]),
    pull_seconds=_SECONDS,
    start_seconds=_SECONDS,
    ready_seconds=st.none() | _SECONDS,
    runs_seconds=st.none() | _SECONDS,
    live_seconds=st.none() | _SECONDS,
    stop_seconds=_SECONDS,
    exit_code=st.sampled_from([0, 1, 137]),
    reason=st.sampled_from(["", "OOMKilled"]),
    log=st.just((LogLine(text="a", after_seconds=1),)),
    calls=st.sampled_from([(), ("db:5432",)]),
    on_no_answer=st.sampled_from(["exit", "wait"]),
    times=st.none() | st.integers(0, 3),
)
_PROBES: Object = {
    "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 3},
    "livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 2},
    "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 5},
}
_CONTAINERS = st.lists(st.sampled_from(sorted(_PROBES)), unique=True).map(
    lambda names: {name: _PROBES[name] for name in names}
)


def any_pod(container: Object, policy: str, inits: list[Json]) -> Object:
    return pod(container=container, restartPolicy=policy, initContainers=inits)


_PODS = st.builds(
    any_pod,
    container=_CONTAINERS,
    policy=st.sampled_from(["Always", "OnFailure", "Never"]),
    inits=st.sampled_from(
        [
            [],
            [{"name": "init", "image": "busybox:1"}],
            [{"name": "side", "image": "busybox:1", "restartPolicy": "Always"}],
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_PARTS, max_size=2), _PODS, st.lists(st.sampled_from([0, 1, 5, 40, 400]), max_size=12))
def test_a_pod_never_goes_back(behaviors: list[PodBehavior], pod_object: Object, steps: list[int]) -> None:
    play = Playground(*behaviors)
    play.create(pod_object)
    final, restarts = "", 0
    for seconds in steps:
        play.run(seconds)
        phase = play.phase()
        assert not final or phase == final
        if phase in ("Succeeded", "Failed"):
            final = phase
        result = [fields(raw) for raw in items(play.status().get("containerStatuses"))]
        assert all(len(fields(container["state"])) == 1 for container in result)
        count = sum(integer(container["restartCount"]) for container in result)
        assert count >= restarts
        restarts = count
        ready = play.condition("Ready").get("status") == "True"
        assert not ready or all(container["ready"] is True for container in result)


@settings(max_examples=20, deadline=None)
@given(st.lists(_PARTS, max_size=2), st.permutations(["a", "b", "c"]), st.sampled_from([1, 7, 50]))
def test_the_length_of_the_steps_does_not_matter(
    parts: list[PodBehavior], names: list[str], step: int
) -> None:
    once, often = Playground(*parts), Playground(*parts)
    for play in (once, often):
        play.create(*(pod(name) for name in names))
    once.run(100)
    for _ in range(100 // step):
        often.run(step)
    often.run(100 % step)
    assert once.api_server.objects() == often.api_server.objects()
    assert once.life.logs.all() == often.life.logs.all()


def whole_cluster() -> Playground:
    """A bit of everything, for its bytes."""
    play = Playground(
        PodBehavior(name="bad*", runs_seconds=2, exit_code=1),
        PodBehavior(name="lost*", pull="missing"),
        PodBehavior(name="call*", calls=("web:80",), on_no_answer="wait"),
    )
    claimed: Json = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    storage: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    play.create(manifest("PersistentVolumeClaim", "data", {"spec": storage}), service("web"))
    for name in ("web", "bad", "lost", "call"):
        play.create(
            *(pod(f"{name}-{number}", labels={"app": name, "no": str(number)}) for number in range(3))
        )
    play.create(
        pod("claims", volumes=[claimed]), pod("needs", container={"envFrom": [{"secretRef": {"name": "x"}}]})
    )
    return play.run(300)


def digest() -> str:
    play = whole_cluster()
    result = json.dumps([play.api_server.objects(), [list(log.lines) for log in play.life.logs.all()]])
    return sha256(result.encode()).hexdigest()


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    code = "from tests.kubernetes.controllers.test_properties import digest; print(digest())"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {f"{digest()}\n"}


def writes_of(count: int) -> int:
    play = Playground(nodes=10)
    play.run(1)
    before = len(play.api_server.store.journal)
    play.create(*(pod(f"web-{number}") for number in range(count)))
    play.run(60)
    assert all(
        text(fields(pod_object.get("status")).get("phase")) == "Running"
        for _, pod_object in play.api_server.store.within(("", "pods"))
    )
    return len(play.api_server.store.journal) - before


def test_what_many_pods_cost_is_what_one_costs_many_times() -> None:
    assert writes_of(200) == 200 * writes_of(1)

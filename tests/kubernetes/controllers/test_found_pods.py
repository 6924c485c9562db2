"""Pods that were there before the model: taken over as they are, however odd."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kubernetes.controllers.playground import Playground, manifest, pod
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Timeline


def live_pod(state: Object, *, spec: Object | None = None, ready: bool = False, **more: Json) -> Object:
    item = pod(container=spec)
    fields(item["spec"])["nodeName"] = "ip-10-0-0-1"
    result: Object = {"name": "web", "image": "nginx:1", "imageID": "", "ready": ready, "restartCount": 7}
    status: Object = {
        "phase": "Running",
        "containerStatuses": [{**result, "state": state, "lastState": {}}],
        **more,
    }
    return {**item, "status": status}


def test_a_running_pod_stays_as_it_is() -> None:
    play = Playground()
    running = live_pod({"running": {"startedAt": "2025-12-01T00:00:00Z"}}, ready=True)
    play.api_server.load([running])
    play.run(3600)
    assert play.status() == running["status"]


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ImagePullBackOff"])
def test_what_failed_before_fails_on(reason: str) -> None:
    play = Playground()
    play.api_server.load([live_pod({"waiting": {"reason": reason, "message": "as told"}})])
    play.run(3600)
    assert play.waiting() == (reason, "as told")


def test_unless_the_script_says_what_happens_next() -> None:
    play = Playground(PodBehavior(name="web"))
    play.api_server.load([live_pod({"waiting": {"reason": "CrashLoopBackOff"}})])
    play.run(60)
    assert "running" in fields(play.container()["state"])


def test_what_waits_for_a_secret_goes_on_when_it_comes() -> None:
    play = Playground()
    spec: Object = {"envFrom": [{"secretRef": {"name": "db"}}]}
    waits: Object = {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "db" not found'}}
    play.api_server.load([live_pod(waits, spec=spec, phase="Pending")])
    play.run(60)
    assert play.waiting()[0] == "CreateContainerConfigError"
    play.create(manifest("Secret", "db", {"stringData": {"a": "b"}}))
    play.run(60)
    assert play.phase() == "Running"


def test_a_pod_of_which_only_the_phase_is_known() -> None:
    play = Playground()
    bare = pod()
    play.api_server.load([{**bare, "status": {"phase": "Running"}}])
    play.run(60)
    assert play.status() == {"phase": "Running"}


def test_an_ended_pod_stays_ended() -> None:
    play = Playground()
    play.api_server.load([live_pod({"terminated": {"exitCode": 0}}, phase="Succeeded")])
    play.run(60)
    assert play.phase() == "Succeeded"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99999) | st.sampled_from(["", "x", "Always", "1Gi", "5%"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "image", "state", "waiting", "running", "terminated", "resources", "requests", "cpu"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=5,
)
_SPEC = st.dictionaries(
    st.sampled_from(
        [
            "containers", "initContainers", "volumes", "tolerations", "affinity", "nodeSelector", "nodeName",
            "restartPolicy", "activeDeadlineSeconds", "readinessGates", "selector", "ports", "hard",
            "minAvailable", "maxUnavailable", "scaleTargetRef", "metrics", "accessModes", "taints", "rules",
            "storageClassName", "volumeName", "imagePullSecrets", "overhead", "type", "clusterIP",
        ]
    ),
    _JSON,
    max_size=4,
)  # fmt: skip
_KINDS = st.sampled_from(
    [
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("v1", "ResourceQuota"),
        ("v1", "Node"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("policy/v1", "PodDisruptionBudget"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("networking.k8s.io/v1", "Ingress"),
    ]
)
_STATUS = st.dictionaries(
    st.sampled_from(["phase", "conditions", "containerStatuses", "allocatable", "addresses", "loadBalancer"]),
    _JSON,
    max_size=2,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_KINDS, _SPEC, _STATUS), min_size=1, max_size=3))
def test_whatever_was_found_nothing_breaks(things: list[tuple[tuple[str, str], Object, Object]]) -> None:
    model = ApiServer()
    model.load(
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": f"x{number}", "namespace": "shop", "labels": {"app": "x"}},
            "spec": spec,
            "status": status,
        }
        for number, ((version, kind), spec, status) in enumerate(things)
    )
    Timeline(model.clock, [ControllerManager(model)]).run(timedelta(seconds=90))

"""The kinds that Argo CD judges in Go: one situation, one verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import health_of
from whysync.argocd.health.builtin import conversion_problem
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

HEALTHY, SUSPENDED, PROGRESSING, _, DEGRADED, UNKNOWN = HealthCode


def judged(
    api_version: str, kind: str, spec: Json = None, status: Json = None, **metadata: Json
) -> HealthVerdict:
    obj: Object = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", **metadata}}
    verdict = health_of({**obj, "spec": spec, "status": status})
    assert verdict is not None
    return verdict


WAITING = "Waiting for rollout to finish: "


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"paused": True}, {}, HealthVerdict(SUSPENDED, "Deployment is paused")),
        (
            {},
            {"observedGeneration": 1},
            HealthVerdict(
                PROGRESSING, f"{WAITING}observed deployment generation less than desired generation"
            ),
        ),
        (
            {"replicas": 3},
            {
                "conditions": [
                    {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "status": "False"}
                ]
            },
            HealthVerdict(DEGRADED, 'Deployment "web" exceeded its progress deadline'),
        ),
        (
            {"replicas": 3},
            {"updatedReplicas": 1},
            HealthVerdict(PROGRESSING, f"{WAITING}1 out of 3 new replicas have been updated..."),
        ),
        (
            {"replicas": 3},
            {"updatedReplicas": 3, "replicas": 5},
            HealthVerdict(PROGRESSING, f"{WAITING}2 old replicas are pending termination..."),
        ),
        (
            {"replicas": 3},
            {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 2},
            HealthVerdict(PROGRESSING, f"{WAITING}2 of 3 updated replicas are available..."),
        ),
        (
            {"replicas": 3},
            {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 3},
            HealthVerdict(HEALTHY),
        ),
        ({}, {"conditions": [{"type": "Available", "status": "False"}]}, HealthVerdict(HEALTHY)),
    ],
)
def test_deployment(spec: Object, status: Object, expected: HealthVerdict) -> None:
    full_status: Object = {"observedGeneration": 2, **status}
    assert judged("apps/v1", "Deployment", spec, full_status, generation=2) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {}, HealthVerdict(PROGRESSING, "Waiting for statefulset spec update to be observed...")),
        (
            {"replicas": 3},
            {"observedGeneration": 1, "readyReplicas": 1},
            HealthVerdict(PROGRESSING, "Waiting for 2 pods to be ready..."),
        ),
        (
            {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}},
            {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1},
            HealthVerdict(
                PROGRESSING,
                "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
            ),
        ),
        (
            {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
            {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 3},
            HealthVerdict(HEALTHY, "partitioned roll out complete: 3 new pods have been updated..."),
        ),
        (
            {"replicas": 3, "updateStrategy": {"type": "OnDelete"}},
            {"observedGeneration": 1, "readyReplicas": 3},
            HealthVerdict(HEALTHY, "statefulset has 3 ready pods"),
        ),
        (
            {},
            {"observedGeneration": 1, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"},
            HealthVerdict(
                PROGRESSING, "waiting for statefulset rolling update to complete 1 pods at revision b..."
            ),
        ),
        (
            {},
            {"observedGeneration": 1, "currentReplicas": 2, "updateRevision": "a", "currentRevision": "a"},
            HealthVerdict(HEALTHY, "statefulset rolling update complete 2 pods at revision a..."),
        ),
    ],
)
def test_stateful_set(spec: Object, status: Object, expected: HealthVerdict) -> None:
    assert judged("apps/v1", "StatefulSet", spec, status, generation=1) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        (
            {},
            {"observedGeneration": 0},
            HealthVerdict(
                PROGRESSING, f"{WAITING}observed daemon set generation less than desired generation"
            ),
        ),
        (
            {"updateStrategy": {"type": "OnDelete"}},
            {"updatedNumberScheduled": 1, "desiredNumberScheduled": 3},
            HealthVerdict(HEALTHY, "daemon set 1 out of 3 new pods have been updated"),
        ),
        (
            {},
            {"updatedNumberScheduled": 1, "desiredNumberScheduled": 3},
            HealthVerdict(
                PROGRESSING,
                'Waiting for daemon set "web" rollout to finish: 1 out of 3 new pods have been updated...',
            ),
        ),
        (
            {},
            {"updatedNumberScheduled": 3, "desiredNumberScheduled": 3, "numberAvailable": 2},
            HealthVerdict(
                PROGRESSING,
                'Waiting for daemon set "web" rollout to finish: 2 of 3 updated pods are available...',
            ),
        ),
        ({}, {}, HealthVerdict(HEALTHY)),
    ],
)
def test_daemon_set(spec: Object, status: Object, expected: HealthVerdict) -> None:
    full_status: Object = {"observedGeneration": 1, **status}
    assert judged("apps/v1", "DaemonSet", spec, full_status, generation=1) == expected


def test_replica_set() -> None:
    failure: Object = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": "quota"}]}
    assert judged("apps/v1", "ReplicaSet", {"replicas": 2}, failure) == HealthVerdict(DEGRADED, "quota")
    assert judged("apps/v1", "ReplicaSet", {"replicas": 2}, {"availableReplicas": 1}) == HealthVerdict(
        PROGRESSING, f"{WAITING}1 out of 2 new replicas are available..."
    )
    assert judged("apps/v1", "ReplicaSet", {}, {}, generation=1).code is PROGRESSING
    assert judged("apps/v1", "ReplicaSet", {"replicas": 1}, {"availableReplicas": 1}) == HealthVerdict(
        HEALTHY
    )


BACK_OFF: Object = {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
ERRORED: Object = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}


@pytest.mark.parametrize(
    ("policy", "status", "expected"),
    [
        (
            "Always",
            {"containerStatuses": [BACK_OFF, ERRORED]},
            HealthVerdict(DEGRADED, "back-off, no such image"),
        ),
        ("Never", {"phase": "Pending", "containerStatuses": [BACK_OFF]}, HealthVerdict(PROGRESSING)),
        ("Always", {"phase": "Pending", "message": "m"}, HealthVerdict(PROGRESSING, "m")),
        ("Always", {"phase": "Succeeded"}, HealthVerdict(HEALTHY)),
        ("Never", {"phase": "Failed", "message": "evicted"}, HealthVerdict(DEGRADED, "evicted")),
        (
            "Never",
            {
                "phase": "Failed",
                "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0}}}],
                "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3}}}],
            },
            HealthVerdict(DEGRADED, 'container "main" failed with exit code 3'),
        ),
        (
            "Never",
            {
                "phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}],
            },
            HealthVerdict(DEGRADED, "OOMKilled"),
        ),
        ("Never", {"phase": "Failed"}, HealthVerdict(DEGRADED)),
        (
            "Always",
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            HealthVerdict(HEALTHY),
        ),
        ("Always", {"phase": "Running"}, HealthVerdict(PROGRESSING)),
        (
            "Always",
            {"phase": "Running", "containerStatuses": [{"lastState": {"terminated": {"exitCode": 1}}}]},
            HealthVerdict(DEGRADED),
        ),
        (
            "OnFailure",
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            HealthVerdict(PROGRESSING),
        ),
        ("Sometimes", {"phase": "Running"}, HealthVerdict(UNKNOWN)),
        ("Always", {"phase": "Odd"}, HealthVerdict(UNKNOWN)),
    ],
)
def test_pod(policy: str, status: Object, expected: HealthVerdict) -> None:
    assert judged("v1", "Pod", {"restartPolicy": policy}, status) == expected


def test_pod_that_asks_to_be_taken_as_long_running() -> None:
    ready: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    annotation: Object = {"argocd.argoproj.io/ignore-restart-policy": "true"}
    assert judged("v1", "Pod", {"restartPolicy": "Never"}, ready, annotations=annotation).code is HEALTHY
    hook: Object = {**annotation, "argocd.argoproj.io/hook": "PreSync"}
    assert judged("v1", "Pod", {"restartPolicy": "Never"}, ready, annotations=hook).code is PROGRESSING


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], HealthVerdict(PROGRESSING)),
        ([{"type": "Complete", "status": "True", "message": "done"}], HealthVerdict(HEALTHY, "done")),
        ([{"type": "Failed", "status": "True", "message": "backoff"}], HealthVerdict(DEGRADED, "backoff")),
        ([{"type": "Suspended", "status": "True", "message": "off"}], HealthVerdict(SUSPENDED, "off")),
        ([{"type": "Suspended", "status": "False", "message": "resumed"}], HealthVerdict(HEALTHY, "resumed")),
        ([{"type": "FailureTarget", "status": "True"}], HealthVerdict(PROGRESSING)),
    ],
)
def test_job(conditions: list[Json], expected: HealthVerdict) -> None:
    assert judged("batch/v1", "Job", {}, {"conditions": conditions}) == expected


def test_service_and_ingress() -> None:
    address: Object = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    assert judged("v1", "Service", {"type": "LoadBalancer"}, {}) == HealthVerdict(PROGRESSING)
    assert judged("v1", "Service", {"type": "LoadBalancer"}, address) == HealthVerdict(HEALTHY)
    assert judged("v1", "Service", {"type": "ClusterIP"}, {}) == HealthVerdict(HEALTHY)
    for api_version in ("networking.k8s.io/v1", "extensions/v1beta1", "networking.k8s.io/v9"):
        assert judged(api_version, "Ingress", {}, address) == HealthVerdict(HEALTHY)
        assert judged(api_version, "Ingress", {}, {"loadBalancer": {}}) == HealthVerdict(PROGRESSING)
        assert judged(api_version, "Ingress", {}, "odd") == HealthVerdict(PROGRESSING)


@pytest.mark.parametrize(
    ("phase", "code"), [("Bound", HEALTHY), ("Pending", PROGRESSING), ("Lost", DEGRADED), ("", UNKNOWN)]
)
def test_claim(phase: str, code: HealthCode) -> None:
    assert judged("v1", "PersistentVolumeClaim", {}, {"phase": phase}) == HealthVerdict(code)


def test_workflow() -> None:
    for phase, code in {"": PROGRESSING, "Running": PROGRESSING, "Error": DEGRADED, "Odd": UNKNOWN}.items():
        status: Object = {"phase": phase, "message": "m"}
        assert judged("argoproj.io/v1alpha1", "Workflow", {}, status) == HealthVerdict(code, "m")


def test_api_service() -> None:
    for status, code in {"True": HEALTHY, "False": PROGRESSING}.items():
        available: Object = {"type": "Available", "status": status, "reason": "R", "message": "m"}
        verdict = judged("apiregistration.k8s.io/v1", "APIService", {}, {"conditions": [available]})
        assert verdict == HealthVerdict(code, "R: m")
    assert judged("apiregistration.k8s.io/v1beta1", "APIService").message == "Waiting to be processed"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("[]", HealthVerdict(PROGRESSING, "Waiting to Autoscale")),
        (
            '[{"type": "ScalingActive", "reason": "FailedGetResourceMetric", "message": "no metrics"},'
            ' {"type": "AbleToScale", "status": "True"}]',
            HealthVerdict(DEGRADED, "no metrics"),
        ),
        ('[{"Type": "AbleToScale", "STATUS": "True", "message": "ok"}]', HealthVerdict(HEALTHY, "ok")),
        (
            '[{"type": "ScalingLimited", "status": "False"}]',
            HealthVerdict(PROGRESSING, "Waiting to Autoscale"),
        ),
        ("null", HealthVerdict(PROGRESSING, "Waiting to Autoscale")),
        (
            "",
            HealthVerdict(
                UNKNOWN, "failed to convert conditions annotation to typed: unexpected end of JSON input"
            ),
        ),
        (
            "{}",
            HealthVerdict(
                UNKNOWN,
                "failed to convert conditions annotation to typed: "
                "json: cannot unmarshal object into Go value of type []health.hpaCondition",
            ),
        ),
        (
            '[{"type": 5}]',
            HealthVerdict(
                UNKNOWN,
                "failed to convert conditions annotation to typed: "
                "json: cannot unmarshal number into Go struct field hpaCondition.Type of type string",
            ),
        ),
    ],
)
def test_autoscaler_v1(conditions: str, expected: HealthVerdict) -> None:
    annotations: Object = {"autoscaling.alpha.kubernetes.io/conditions": conditions}
    assert judged("autoscaling/v1", "HorizontalPodAutoscaler", annotations=annotations) == expected


def test_autoscaler_v2() -> None:
    able: Object = {"type": "AbleToScale", "status": "True", "message": "ready"}
    status: Object = {"conditions": [able]}
    assert judged("autoscaling/v2", "HorizontalPodAutoscaler", {}, status) == HealthVerdict(HEALTHY, "ready")
    assert judged("autoscaling/v2", "HorizontalPodAutoscaler").message == "Waiting to Autoscale"


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("apps/v1beta1", "Deployment", "unsupported Deployment GVK: apps/v1beta1, Kind=Deployment"),
        ("v2", "Pod", "unsupported Pod GVK: /v2, Kind=Pod"),
        (
            "autoscaling/v2beta2",
            "HorizontalPodAutoscaler",
            "unsupported HPA GVK: autoscaling/v2beta2, Kind=HorizontalPodAutoscaler",
        ),
    ],
)
def test_other_versions_are_unknown(api_version: str, kind: str, message: str) -> None:
    assert judged(api_version, kind) == HealthVerdict(UNKNOWN, message)


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        ({"replicas": "3"}, None, "unrecognized type: int32"),
        ({"replicas": 1.5}, None, "cannot convert float64 to int32"),
        ({"paused": "yes"}, None, "unrecognized type: bool"),
        ("odd", None, "cannot restore struct from: string"),
        ({}, {"conditions": {}}, "cannot restore slice from map"),
        ({}, {"conditions": ["x"]}, "cannot restore struct from: string"),
        ({}, {"conditions": [{"type": 5}]}, "cannot convert int64 to v1.DeploymentConditionType"),
        ({}, {"conditions": [{"reason": True}]}, "unrecognized type: string"),
    ],
)
def test_what_does_not_fit_its_type_is_unknown(spec: Json, status: Json, message: str) -> None:
    verdict = judged("apps/v1", "Deployment", spec, status)
    assert verdict == HealthVerdict(UNKNOWN, f"failed to convert unstructured Deployment to typed: {message}")


def test_whole_floats_and_nulls_fit() -> None:
    assert judged("apps/v1", "Deployment", {"replicas": 0.0, "paused": None}, {"conditions": None}).code
    assert conversion_problem({"a": "x"}, {"*": "string"}) is None
    assert conversion_problem([], {"*": "string"}) == "cannot restore map from slice"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("argoproj.io/v1alpha1", "Application"),
        ("apps/v1/x", "Deployment"),
    ],
)
def test_kinds_without_an_opinion(api_version: str, kind: str) -> None:
    assert health_of({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}) is None


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["conditions", "phase", "type", "status", "replicas", "containerStatuses", "state"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
KINDS = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("batch/v1", "Job"),
    ("autoscaling/v1", "HorizontalPodAutoscaler"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "Ingress"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("argoproj.io/v1alpha1", "Workflow"),
]


@given(kind=st.sampled_from(KINDS), spec=trees, status=trees, metadata=trees)
def test_any_object_gets_a_verdict(kind: tuple[str, str], spec: Json, status: Json, metadata: Json) -> None:
    obj: Object = {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }
    verdict = health_of(obj)
    assert verdict is not None
    assert verdict.code is not None

"""What controllers report about objects: events, states and health messages, read as theirs."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object

POD = "web-6c9f-x2k4p"


def _event(kind: str, name: str, reason: str, message: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-03-02T03:09:00Z",
        "metadata": {"name": f"{name}.1", "namespace": "shop"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "shop"},
    }


def _first_cause(*objects: Object) -> str:
    first = diagnose(case_of(*objects), diagnosis_rules()).first
    return first.cause if first is not None else ""


def _unhealthy(
    kind: str, name: str, code: str, message: str = "", group: str | None = None, version: str = "v1"
) -> Object:
    resource = row(kind, name, health={"status": code, "message": message}, version=version)
    resources: Json = [resource if group is None else {**resource, "group": group}]
    return application(health=code, status={"resources": resources})


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("FailedScheduling", "0/6 nodes are available: 6 Insufficient memory.", "unschedulable"),
        ("FailedScaleUp", "Node scale up for this pod failed: out of resources.", "unschedulable"),
        ("Preempted", "Preempted by pod 3e8a8f0c on node n2", "degraded-workload"),
        # Words that mean something else in a message of Argo CD.
        ("FailedCreatePodSandBox", "plugin type=calico failed (add): Unauthorized", "config-error"),
        ("FailedMount", "MountVolume.SetUp failed for volume d : mount.nfs: access denied", "pvc-pending"),
        ("Failed", 'Error: failed to prepare subPath for volumeMount "c" of container "app"', "config-error"),
        ("Failed", "Error: failed to get sandbox container task: no running task found", "config-error"),
        ("FailedPrepareDynamicResources", "NodePrepareResources: plugin not registered", "config-error"),
        ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", "probe-failing"),
    ],
)  # fmt: skip
def test_an_event_of_a_pod(reason: str, message: str, cause: str) -> None:
    app = _unhealthy("Deployment", "web", "Progressing", "Waiting for rollout to finish")
    assert _first_cause(app, _event("Pod", POD, reason, message)) == cause


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("ImageInspectError", 'Failed to inspect image "web:1"', "image-pull"),
        ("RegistryUnavailable", "the registry does not answer: connection refused", "image-pull"),
        ("PostStartHookError", "command 'sh -c /init.sh' exited with 1", "config-error"),
        ("CreatePodSandboxError", "rpc error: code = Unknown", "config-error"),
    ],
)
def test_a_waiting_container(reason: str, message: str, cause: str) -> None:
    waiting: Json = {"waiting": {"reason": reason, "message": message}}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"containers": [{"name": "app"}]},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "app", "state": waiting}]},
    }
    assert _first_cause(_unhealthy("Pod", "web", "Progressing"), pod) == cause


@pytest.mark.parametrize(
    "message",
    [
        "unable to fetch metrics: the server could not find the requested resource (get pods.metrics.k8s.io)",
        "the server is currently unable to handle the request (get s0.external.metrics.k8s.io)",
        "no custom metrics API (custom.metrics.k8s.io) registered",
        "error: Operation cannot be fulfilled on deployments.apps: the object has been modified",
    ],
)
def test_an_autoscaler_that_gets_no_metrics_is_no_problem_of_argo_cd(message: str) -> None:
    app = _unhealthy("HorizontalPodAutoscaler", "web", "Degraded", group="autoscaling", version="v2")
    event = _event("HorizontalPodAutoscaler", "web", "FailedGetPodsMetric", message)
    assert _first_cause(app, event) == "degraded-workload"


@pytest.mark.parametrize(
    "message",
    [
        "failed to get Vault client: permission denied",
        "kustomize build failed: accumulating resources",
        "unable to get metrics: the server could not find the requested resource (get pods.metrics.k8s.io)",
        "failing or missing response from https://10.0.0.1:443/apis: context deadline exceeded",
        'connection error: desc = "transport: Error while dialing"',
        'assessed Error: Post "http://prometheus:9090": dial tcp: lookup prometheus: no such host',
    ],
)
def test_the_health_message_of_a_custom_resource_is_of_its_controller(message: str) -> None:
    app = _unhealthy("Widget", "web", "Degraded", message, group="example.com")
    assert _first_cause(app) == "degraded-workload"


def test_a_child_application_reports_in_the_words_of_argo_cd() -> None:
    message = "rpc error: code = Unknown desc = authentication required: Repository not found."
    app = _unhealthy("Application", "child", "Degraded", message, group="argoproj.io", version="v1alpha1")
    assert _first_cause(app) == "repo-auth"


def test_a_warning_about_a_custom_resource_is_of_its_controller() -> None:
    widget: Object = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "web", "namespace": "shop"}
    event: Object = {
        **_event("Widget", "web", "FluxInverted", "the flux is upside down"),
        "involvedObject": widget,
    }
    app = _unhealthy("Widget", "web", "Progressing", group="example.com")
    report = diagnose(case_of(app, event, {**_live(widget), "status": {}}), diagnosis_rules())
    assert report.first is not None
    assert (report.first.cause, report.first.rule) == ("degraded-workload", "workload_degraded")
    assert "the flux is upside down" in report.first.verdict


def _live(ref: Object) -> Object:
    return {**ref, "metadata": {"name": ref["name"], "namespace": ref["namespace"]}}


def test_an_event_of_a_known_reason_is_quoted_if_the_finding_does_not() -> None:
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"type": "LoadBalancer"},
        "status": {"loadBalancer": {}},
    }
    event = _event("Service", "web", "FailedToUpdateEndpointSlices", "the slices are gone")
    report = diagnose(case_of(_unhealthy("Service", "web", "Progressing"), service, event), diagnosis_rules())
    assert [finding.rule for finding in report.findings] == ["load_balancer_pending"]
    assert [symptom.raw for symptom in report.not_understood] == ["the slices are gone"]


def test_a_healthy_service_may_have_a_current_problem() -> None:
    """Its health does not depend on what the event reports."""
    event = _event("Service", "web", "FailedToUpdateEndpointSlices", "the slices are gone")
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    app = application(status={"resources": [row("Service", "web")]})
    first = diagnose(case_of(app, service, event), diagnosis_rules()).first
    assert first is not None
    assert (first.rule, "the slices are gone" in first.verdict) == ("event_unrecognized", True)

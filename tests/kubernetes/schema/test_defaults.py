"""What the API server fills in."""

from __future__ import annotations

import json

import pytest

from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.remarshal import remarshal
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.schema import type_of
from whysync.kubernetes.schema.defaults import with_defaults


def filled(api_version: str, kind: str, **parts: Json) -> Object:
    schema = type_of(api_version, kind)
    assert schema is not None
    return with_defaults({"apiVersion": api_version, "kind": kind, **parts}, schema)


def test_a_deployment() -> None:
    spec = fields(filled("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [{}]}}})["spec"])
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }
    assert dig(spec, "template", "spec", "restartPolicy") == "Always"
    assert dig(spec, "template", "spec", "containers", 0, "terminationMessagePath") == "/dev/termination-log"


def test_zero_replicas_stay() -> None:
    assert dig(filled("apps/v1", "Deployment", spec={"replicas": 0}), "spec", "replicas") == 0


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
        ("Nginx", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("<masked 3>", "IfNotPresent"),
    ],
)
def test_how_an_image_is_pulled(image: str, policy: str) -> None:
    pod = filled("v1", "Pod", spec={"containers": [{"image": image}]})
    assert dig(pod, "spec", "containers", 0, "imagePullPolicy") == policy


def test_limits_are_requests_in_a_pod_but_not_in_a_template() -> None:
    spec: Object = {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}
    assert dig(filled("v1", "Pod", spec=spec), "spec", "containers", 0, "resources", "requests") == {
        "cpu": "1"
    }
    template = filled("v1", "PodTemplate", template={"spec": spec})
    assert "requests" not in fields(dig(template, "template", "spec", "containers", 0, "resources"))


def test_a_service() -> None:
    spec = fields(
        filled("v1", "Service", spec={"ports": [{"port": 80}], "sessionAffinityConfig": {}})["spec"]
    )
    assert spec == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }


def test_an_autoscaler_without_metrics_watches_the_cpu() -> None:
    spec = fields(filled("autoscaling/v2", "HorizontalPodAutoscaler", spec={"behavior": {}})["spec"])
    assert dig(spec, "metrics", 0, "resource", "target", "averageUtilization") == 80
    assert dig(spec, "behavior", "scaleDown", "policies", 0, "periodSeconds") == 15


def test_defaults_do_not_leak_between_objects() -> None:
    item = filled("autoscaling/v2", "HorizontalPodAutoscaler", spec={})
    fields(dig(item, "spec", "metrics", 0))["type"] = "changed"
    assert (
        dig(filled("autoscaling/v2", "HorizontalPodAutoscaler", spec={}), "spec", "metrics", 0, "type")
        == "Resource"
    )
    first = filled("apps/v1", "Deployment")
    fields(dig(first, "spec", "template", "spec"))["dnsPolicy"] = "changed"
    assert dig(filled("apps/v1", "Deployment"), "spec", "template", "spec", "dnsPolicy") == "ClusterFirst"


def test_argo_cd_does_not_install_the_defaults_of_every_group() -> None:
    claim = filled("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {"requests": [{"exactly": {}}]}})
    assert dig(claim, "spec", "devices", "requests", 0) == {"exactly": {}}


def missing_in(ours: Json, stored: Json, path: str = "") -> list[str]:
    """Paths that we set and the server does not."""
    if isinstance(ours, dict) and isinstance(stored, dict):
        return [
            result
            for key, value in ours.items()
            for result in (
                missing_in(value, stored[key], f"{path}/{key}") if key in stored else [f"{path}/{key}"]
            )
        ]
    if isinstance(ours, list) and isinstance(stored, list) and len(ours) == len(stored):
        pairs = enumerate(zip(ours, stored, strict=True))
        return [
            result
            for at, (ours_item, stored_item) in pairs
            for result in missing_in(ours_item, stored_item, f"{path}/{at}")
        ]
    return [] if ours == stored else [path]


@needs_shared
def test_defaults_are_those_of_an_api_server() -> None:
    """An API server has stored every default that we set; it adds more than defaults."""
    checked = 0
    for line in (CONFORMANCE / "apiserver_defaults.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = next(item for item in record["steps"] if item["request"]["verb"] == "create")
        stored, body = fields(step["response"].get("object")), fields(step["request"].get("body"))
        kind = type_of(text(body.get("apiVersion")), text(body.get("kind")), in_scheme=True)
        if record["op"] != "create-defaults" or not stored or kind is None:
            continue
        ours = with_defaults(normalize(remarshal(body)), kind)
        allowed = {"/spec/tolerations", "/metadata/name", "/rules"}
        wrong = [path for path in missing_in(ours, stored) if path not in allowed and "status" not in path]
        assert not wrong, (record["id"], wrong)
        checked += 1
    assert checked > 100


@needs_shared
def test_what_a_server_stored_does_not_differ() -> None:
    """A desired object and what became of it on a real server: Synced to Argo CD, but for these."""
    differing: list[str] = []
    for line in (CONFORMANCE / "apiserver_defaults.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = next(item for item in record["steps"] if item["request"]["verb"] == "create")
        stored, body = fields(step["response"].get("object")), fields(step["request"].get("body"))
        if record["op"] == "create-defaults" and stored and diff(body, stored).modified:
            differing.append(text(record["id"]).partition("/")[2])
    assert differing == [
        "deployment-null-fields",  # writes a status, which is usually ignored
        "pod-rich",  # the server adds tolerations to a list that is compared as a whole
        "resourceclaim",  # defaults of a group that Argo CD does not install
        "crd-list-of-versions-sorted",  # the server drops `preserveUnknownFields: false`, Argo CD does not
    ]

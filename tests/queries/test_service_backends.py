"""Who should answer behind a Service, and how many of them there were."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Json, Object
from whysync.queries.service_backends import scaled_to_zero

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def service(selector: Json) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "hook", "namespace": "policy"},
        "spec": {"selector": selector},
    }


def workload(*, replicas: Json = 0, applied: str = "", name: str = "hook", labels: Json = None) -> Object:
    meta: Object = {"name": name, "namespace": "policy"}
    if applied:
        meta["annotations"] = {LAST: applied}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": labels or {"app": "hook"}}}},
    }


def replicas_before_zero(*objects: Object, selector: Json = None) -> int | None:
    case = case_of(application(), service(selector or {"app": "hook"}), *objects)
    manifest = case.live_named("Service", "policy", "hook")
    assert manifest is not None
    result = scaled_to_zero(case, manifest)
    return result[1] if result is not None else None


@pytest.mark.parametrize(
    ("applied", "count"),
    [
        ("", 1),
        ('{"spec": {"replicas": 3}}', 3),
        ('{"spec": {"replicas": 0}}', 1),
        ('{"spec": {"replicas": -5}}', 1),
        ('{"spec": {"replicas": 99999999}}', 100),
        ('{"spec": {"replicas": "many"}}', 1),
        ('{"spec": null}', 1),
        ("{}", 1),
        ("no JSON", 1),
        ("[" * 5000, 1),
    ],
)
def test_how_many_there_were(applied: str, count: int) -> None:
    assert replicas_before_zero(workload(applied=applied)) == count


def test_only_one_that_is_at_zero() -> None:
    assert replicas_before_zero(workload(replicas=1)) is None
    assert replicas_before_zero(workload(replicas=None)) is None
    assert replicas_before_zero(workload(labels={"app": "other"})) is None
    assert replicas_before_zero(workload(), workload(name="canary")) is None
    assert replicas_before_zero(workload(), selector={"app": "hook", "part": "server"}) is None
    assert replicas_before_zero() is None


def test_a_service_without_a_selector_selects_nobody() -> None:
    case = case_of(application(), service({}), workload())
    manifest = case.live_named("Service", "policy", "hook")
    assert manifest is not None
    assert scaled_to_zero(case, manifest) is None

"""How much a quota would have to allow, and how many replicas it lets run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.situations import application, case_of
from whysync.golang.quantity import quantity_value
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.queries.quotas import amounts_left, has_room, ready_and_desired, required_hard_limits


def quota(hard: dict[str, Json], used: dict[str, Json]) -> Manifest:
    body: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": hard},
        "status": {"used": used},
    }
    return Manifest(body, role=Role.LIVE)


@pytest.mark.parametrize(
    ("name", "hard", "used", "requested", "times", "expected"),
    [
        ("requests.cpu", "2", "2", "1", 2, "4"),
        ("requests.cpu", "1", "900m", "250m", 1, "1150m"),
        ("limits.memory", "8Gi", "7Gi", "2Gi", 1, "9Gi"),
        ("limits.memory", "8Gi", "7Gi", "1.5Gi", 1, "8704Mi"),
        ("services", 0, 0, "1", 1, "1"),
        ("pods", "10", "10", "1", 3, "13"),
    ],
)
def test_what_it_would_have_to_allow(
    name: str, hard: Json, used: Json, requested: str, times: int, expected: str
) -> None:
    assert required_hard_limits(quota({name: hard}, {name: used}).body, f"{name}={requested}", times) == {
        name: expected
    }


def test_only_what_is_too_little() -> None:
    current = quota({"pods": "20", "requests.cpu": "2"}, {"pods": "2", "requests.cpu": "2"})
    assert required_hard_limits(current.body, "pods=1,requests.cpu=1", 2) == {"requests.cpu": "4"}
    assert required_hard_limits(current.body, "pods=1", 2) == {}


@pytest.mark.parametrize("requested", ["", "pods", "pods=many", "services=1"])
def test_what_cannot_be_counted(requested: str) -> None:
    assert required_hard_limits(quota({"pods": "1"}, {"pods": "1"}).body, requested, 1) is None


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 50), st.booleans())
def test_a_raised_quota_has_room_and_exceeds_the_need_by_less_than_one(
    used: int, requested: int, times: int, memory: bool
) -> None:
    name, unit = ("requests.memory", "Ki") if memory else ("requests.cpu", "m")
    current = quota({name: "0"}, {name: f"{used}{unit}"})
    raised = required_hard_limits(current.body, f"{name}={requested}{unit}", times)
    assert raised is not None
    after = quota({name: raised[name]}, {name: f"{used}{unit}"}).body
    assert has_room(after, f"{name}={requested * times}{unit}")
    hard, needed = quantity_value(raised[name]), quantity_value(f"{used + requested * times}{unit}")
    assert hard is not None
    assert needed is not None
    assert 0 <= hard - needed < 1


@pytest.mark.parametrize(
    ("kind", "replicas", "status", "expected"),
    [
        ("Deployment", 4, {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2}, (2, 4)),
        ("Deployment", 4, {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2}, None),
        ("Deployment", 4, {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 1}, None),
        ("Deployment", 2, {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2}, None),
        ("Deployment", 4, {}, (0, 4)),
        ("StatefulSet", 4, {"replicas": 2, "readyReplicas": 2}, (2, 4)),
        ("DaemonSet", 4, {"replicas": 2, "readyReplicas": 2}, None),
    ],
)
def test_how_many_run(kind: str, replicas: int, status: Object, expected: tuple[int, int] | None) -> None:
    live: Object = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": replicas},
        "status": status,
    }
    ref = Ref(group="apps", version="v1", kind=kind, namespace="shop", name="web")
    assert ready_and_desired(case_of(application(), live), ref) == expected
    assert ready_and_desired(case_of(application()), ref) is None


@pytest.mark.parametrize(
    ("requested", "used", "limited", "expected"),
    [
        ("limits.memory=8Gi", "limits.memory=60Gi", "limits.memory=64Gi", [("limits.memory", "4Gi", "68Gi")]),
        ("cpu=1,pods=1", "cpu=500m,pods=10", "cpu=2,pods=10", [("pods", "0", "11")]),
        ("requests.cpu=250m", "requests.cpu=1", "requests.cpu=1100m", [("requests.cpu", "100m", "1250m")]),
        ("requests.cpu=1", "", "requests.cpu=2", []),
        ("pods=1", "pods=12", "pods=10", [("pods", "0", "13")]),
    ],
)
def test_what_is_left(requested: str, used: str, limited: str, expected: list[tuple[str, str, str]]) -> None:
    left = amounts_left(requested, used, limited)
    assert [(amount.name, amount.left, amount.needed) for amount in left] == expected


def test_where_a_container_requests_it() -> None:
    fields = {
        amount.name: amount.field
        for amount in amounts_left(
            "cpu=2,limits.memory=2,requests.example.com/gpu=2",
            "cpu=1,limits.memory=1,requests.example.com/gpu=1",
            "cpu=1,limits.memory=1,requests.example.com/gpu=1",
        )
    }
    assert fields["cpu"] == "resources.requests.cpu"
    assert fields["limits.memory"] == "resources.limits.memory"
    assert fields["requests.example.com/gpu"] == "resources.requests.example.com/gpu"

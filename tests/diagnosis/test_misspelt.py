"""A near name beside an unknown field: offered only where it is plain, free, and takes such a value."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.contracts.tree import Json, Object
from whysync.diagnosis.misspelt import meant


def found(spec: Object, pointer: str) -> str | None:
    git: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}},
        "spec": spec,
    }
    app = application(status={"resources": [row("Deployment", "web", "OutOfSync")]})
    case = case_of(app, git)
    return meant(case, case.desired[0].ref, pointer)


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("replcas", 3, "/spec/replicas"),
        ("Replica", 3, "/spec/replicas"),
        ("replcas", "three", None),
        ("replcas", True, None),
        ("replcas", {"count": 3}, None),
        ("strategi", {"type": "Recreate"}, "/spec/strategy"),
        ("minReadySecond", 5, "/spec/minReadySeconds"),
        ("pausd", True, "/spec/paused"),
        ("size", 3, None),
        ("zzz", None, None),
    ],
)
def test_the_nearest_that_takes_such_a_value(name: str, value: Json, right: str | None) -> None:
    assert found({name: value}, f"/spec/{name}") == right


def test_one_that_is_set_was_not_meant() -> None:
    assert found({"replcas": 3, "replicas": 1}, "/spec/replcas") is None


def test_inside_lists() -> None:
    pod: Object = {"containers": [{"name": "web", "imagePullPolcy": "Always"}]}
    below = "/spec/template/spec/containers/0"
    assert found({"template": {"spec": pod}}, f"{below}/imagePullPolcy") == f"{below}/imagePullPolicy"


def test_what_is_not_there_or_leads_nowhere() -> None:
    assert found({}, "/spec/replcas") is None
    assert found({"replcas": 3}, "/spec") is None
    assert found({"a": {"b": 1}}, "/spec/a/b") is None

"""A near name beside an unknown field: offered only where it is plain, free, and takes such a value."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.json_tree import Json, Object
from whysync.queries.misspelt_fields import intended_field


def suggestion(spec: Object, pointer: str) -> str | None:
    git: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}},
        "spec": spec,
    }
    app = application(status={"resources": [row("Deployment", "web", "OutOfSync")]})
    case = case_of(app, git)
    return intended_field(case, case.desired[0].ref, pointer)


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
    assert suggestion({name: value}, f"/spec/{name}") == right


def test_one_that_is_set_was_not_meant() -> None:
    assert suggestion({"replcas": 3, "replicas": 1}, "/spec/replcas") is None


def test_inside_lists() -> None:
    pod: Object = {"containers": [{"name": "web", "imagePullPolcy": "Always"}]}
    below = "/spec/template/spec/containers/0"
    assert suggestion({"template": {"spec": pod}}, f"{below}/imagePullPolcy") == f"{below}/imagePullPolicy"


def test_what_is_not_there_or_leads_nowhere() -> None:
    assert suggestion({}, "/spec/replcas") is None
    assert suggestion({"replcas": 3}, "/spec") is None
    assert suggestion({"a": {"b": 1}}, "/spec/a/b") is None


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("toleration", [], "tolerations"),
        ("toleration", {}, None),
        ("nodeSelectr", {"pool": "a"}, "nodeSelector"),
        ("nodeSelectr", "a", None),
        ("hostNetwrk", True, "hostNetwork"),
        ("hostNetwrk", "yes", None),
        ("securityContxt", {}, "securityContext"),
        ("nodeNam", "one", "nodeName"),
        ("nodeNam", ["one"], None),
    ],
)
def test_lists_maps_and_texts(name: str, value: Json, right: str | None) -> None:
    at = "/spec/template/spec"
    expected = f"{at}/{right}" if right else None
    assert suggestion({"template": {"spec": {name: value}}}, f"{at}/{name}") == expected


PROPERTIES: Object = {
    "size": {"type": "integer"},
    "minNodes": {"type": "integer"},
    "maxNodes": {"type": "integer"},
    "ratio": {"type": "number"},
    "engine": {"type": "string"},
    "paused": {"type": "boolean"},
    "users": {"type": "array", "items": {"type": "object", "properties": {"login": {"type": "string"}}}},
    "backup": {"type": "object", "properties": {"schedule": {"type": "string"}}},
    "anything": {},
}


def of_crd(spec: Object, pointer: str) -> str | None:
    schema: Object = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": PROPERTIES}},
    }
    crd: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "databases.db.example.com"},
        "spec": {
            "group": "db.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Database", "plural": "databases"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    git: Object = {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "main", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}},
        "spec": spec,
    }
    case = case_of(application(), crd, git)
    return intended_field(
        case,
        next(desired_object.ref for desired_object in case.desired if desired_object.ref.kind == "Database"),
        pointer,
    )


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("sizes", 3, "size"),
        ("sizes", 3.5, None),
        ("sizes", True, None),
        ("ratios", 0.5, "ratio"),
        ("ratios", 1, "ratio"),
        ("ratios", "1", None),
        ("engin", "mysql", "engine"),
        ("engin", 8, None),
        ("pausd", True, "paused"),
        ("pausd", "true", None),
        ("user", [], "users"),
        ("user", {}, None),
        ("backups", {}, "backup"),
        ("backups", [], None),
        ("mxNodes", 3, "maxNodes"),
        ("mNodes", 3, None),  # either of two
        ("anythin", "x", None),  # what it may hold is not said
    ],
)
def test_by_the_schema_of_a_crd(name: str, value: Json, right: str | None) -> None:
    assert of_crd({name: value}, f"/spec/{name}") == (f"/spec/{right}" if right else None)


def test_deeper_in_a_crd() -> None:
    assert of_crd({"backup": {"schedul": "@daily"}}, "/spec/backup/schedul") == "/spec/backup/schedule"
    assert of_crd({"users": [{"logn": "a"}]}, "/spec/users/0/logn") == "/spec/users/0/login"


def test_below_an_unknown_field_nothing_is_meant() -> None:
    """The fields beside the unknown one are not those inside of it."""
    assert of_crd({"storage": {"engin": "mysql"}}, "/spec/storage/engin") is None

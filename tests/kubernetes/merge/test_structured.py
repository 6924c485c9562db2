"""Typed values: server-side apply's view of objects."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from tests.argocd.diff.trees import pairs_of_built_ins
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.diff.remarshal import remarshal, scheme_type
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.merge.merge_patch import without_nulls
from whysync.kubernetes.merge.structured import (
    DEDUCED,
    FieldSet,
    Schemas,
    TypeErrors,
    applied,
    atom_of,
    compare,
    decode_managers,
    field_set,
    merge,
    remove_items,
    validate,
)
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1, to_fields_v1
from whysync.kubernetes.schema import type_named, type_of
from whysync.kubernetes.schema.defaults import with_defaults

POD = atom_of(type_named("core/v1.PodSpec"))
SERVICE = atom_of(type_named("core/v1.ServiceSpec"))


def paths(field_set: FieldSet) -> set[str]:
    return {"/".join(path) for path in field_set.paths()}


def test_the_fields_of_a_value() -> None:
    spec: Object = {
        "containers": [{"name": "a", "ports": [{"containerPort": 80}]}],
        "nodeSelector": {"x": "y"},
    }
    port = 'f:containers/k:{"name":"a"}/f:ports/k:{"containerPort":80,"protocol":"TCP"}'
    assert paths(field_set(spec, POD)) == {
        'f:containers/k:{"name":"a"}',
        'f:containers/k:{"name":"a"}/f:name',
        port,
        f"{port}/f:containerPort",
        "f:nodeSelector",
    }


def test_managed_fields_there_and_back() -> None:
    claim: Object = {
        "f:metadata": {"f:finalizers": {".": {}, 'v:"a"': {}}},
        "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
    }
    assert to_fields_v1(from_fields_v1(claim)) == claim


@pytest.mark.parametrize("claim", [5, {"x:a": {}}, {"name": {}}, {"k:{": {}}, {"f:a": 5}])
def test_managed_fields_that_are_none(claim: Json) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the texts are upstream's and many
        from_fields_v1(claim)


def test_sets() -> None:
    first = FieldSet.of([("a",), ("b", "c"), ("b", "d")])
    other = FieldSet.of([("b", "c"), ("e",)])
    assert paths(first.union(other)) == {"a", "b/c", "b/d", "e"}
    assert paths(first.intersection(other)) == {"b/c"}
    assert paths(first.difference(other)) == {"a", "b/d"}
    assert paths(first.difference(FieldSet.of([("b",)]), recursive=True)) == {"a"}
    assert not first.difference(first)
    assert first.has(("b", "c"))
    assert not first.has(("b",))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"x": 1}, ".x: field not declared in schema"),
        ({"hostNetwork": "yes"}, ".hostNetwork: expected boolean, got &{yes}"),
        ({"nodeName": 5}, ".nodeName: expected string, got &value.valueUnstructured{Value:5}"),
        ({"priority": "5"}, ".priority: expected numeric (int or float), got string"),
        ({"containers": {"name": "c"}}, ".containers: expected list, got &{map[name:c]}"),
        ({"securityContext": "x"}, ".securityContext: expected map, got &{x}"),
        ({"containers": [{"name": "c"}, {"name": "c"}]}, '.containers: duplicate entries for key [name="c"]'),
        (
            {"containers": [None]},
            ".containers: element 0: associative list with keys may not have a null element",
        ),
        (
            {"x": 1, "priority": "5"},
            "errors:\n  .priority: expected numeric (int or float), got string\n  .x: field",
        ),
    ],
)
def test_what_does_not_fit_a_type(spec: Object, problem: str) -> None:
    with pytest.raises(TypeErrors) as caught:
        validate(spec, POD)
    assert str(caught.value).startswith(problem)


def test_merging_keeps_what_the_other_side_has() -> None:
    live: Object = {"containers": [{"name": "a", "tty": True}, {"name": "x"}], "nodeSelector": {"a": "1"}}
    config: Object = {"containers": [{"name": "b"}, {"name": "a", "image": "i"}], "nodeSelector": {"b": "2"}}
    assert merge(live, config, POD) == {
        "containers": [{"name": "b"}, {"name": "a", "tty": True, "image": "i"}, {"name": "x"}],
        "nodeSelector": {"b": "2"},
    }


def test_comparing() -> None:
    before: Object = {"ports": [{"port": 80, "name": "a"}, {"port": 81}], "type": "ClusterIP"}
    after: Object = {
        "ports": [{"port": 80, "name": "b"}, {"port": 82}],
        "clusterIP": "None",
        "type": "ClusterIP",
    }
    comparison = compare(before, after, SERVICE)
    item = 'f:ports/k:{"port":8%d,"protocol":"TCP"}'
    assert paths(comparison.modified) == {f"{item % 0}/f:name"}
    assert paths(comparison.removed) == {item % 1, f"{item % 1}/f:port"}
    assert paths(comparison.added) == {item % 2, f"{item % 2}/f:port", "f:clusterIP"}


def test_what_is_empty_after_removing_becomes_null() -> None:
    spec: Object = {"ports": [{"port": 80}], "type": "x"}
    removed = FieldSet.of([("f:ports", 'k:{"port":80,"protocol":"TCP"}')])
    assert remove_items(spec, removed, SERVICE) == {"ports": None, "type": "x"}


def config_map(data: Object, *claims: tuple[str, str, list[str]]) -> Object:
    entries: list[Json] = [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:{key}": {} for key in keys}},
        }
        for manager, operation, keys in claims
    ]
    meta: Object = {"name": "c", "managedFields": entries} if entries else {"name": "c"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


@pytest.mark.parametrize(
    ("claims", "data"),
    [
        ([], {"a": "1", "b": "1"}),
        ([("argocd-controller", "Apply", ["a", "b"])], {"a": "1"}),
        ([("argocd-controller", "Update", ["a", "b"])], {"a": "1", "b": "1"}),
        ([("argocd-controller", "Apply", ["a", "b"]), ("other", "Update", ["b"])], {"a": "1", "b": "1"}),
    ],
)
def test_a_field_goes_with_its_last_owner(claims: list[tuple[str, str, list[str]]], data: Object) -> None:
    live = config_map({"a": "1", "b": "1"}, *claims)
    atom = atom_of(type_named("core/v1.ConfigMap"))
    result = applied(live, config_map({"a": "1"}), decode_managers(live), "argocd-controller", atom)
    assert (result or live)["data"] == data


def test_schemas_of_custom_resources() -> None:
    ports: Object = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "properties": {
                "port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"},
                "target": {"x-kubernetes-int-or-string": True},
            },
        },
    }
    schema: Object = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "ports": ports,
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "plain": {"type": "array", "items": {"type": "string"}},
                },
            }
        },
    }
    version: Object = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    spec: Object = {"group": "example.com", "names": {"kind": "Thing"}, "versions": [version]}
    schemas = Schemas()
    schemas.add_definitions([{"spec": spec}])
    atom = schemas.atom("example.com/v1", "Thing")
    assert atom is not None
    value: Object = {
        "apiVersion": "example.com/v1",
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "ports": [{"port": 80, "target": "http"}],
            "free": {"a": [1]},
            "plain": ["x"],
            "labels": {"l": "m"},
        },
    }
    validate(value, atom)
    assert 'f:spec/f:ports/k:{"port":80,"protocol":"TCP"}/f:target' in paths(field_set(value, atom))
    with pytest.raises(TypeErrors, match=r"\.spec\.nope: field not declared in schema"):
        validate({"spec": {"nope": 1}}, atom)
    assert schemas.atom("example.com/v2", "Thing") is None
    assert schemas.atom("v1", "Pod") is not None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs_of_built_ins())
def test_a_merge_has_all_of_the_second_value(trees: tuple[Object, Object, Object]) -> None:
    left, right, _ = map(remarshal, trees)
    kind = scheme_type(left)
    assert kind is not None
    atom = atom_of(kind)
    merged = merge(left, right, atom)
    assert isinstance(merged, dict)
    comparison = compare(merged, right, atom)
    assert not comparison.added
    assert not comparison.modified or "{}" in json.dumps(right) or "[]" in json.dumps(right)
    assert merge(merged, right, atom) == merged


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs_of_built_ins())
def test_values_without_a_type_are_merged_by_their_shape(trees: tuple[Object, Object, Object]) -> None:
    left, right, _ = trees
    validate(left, DEDUCED)
    merged = merge(left, right, DEDUCED)
    assert merge(merged, right, DEDUCED) == merged


def without_empty(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: without_empty(item) for key, item in value.items() if item not in ({}, None, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


@needs_shared
def test_specs_equal_those_of_an_api_server() -> None:
    """Specs equal those of a real server after server-side applies by several managers."""
    checked = 0
    for line in (CONFORMANCE / "apiserver_ssa.jsonl").read_text().splitlines():
        record = json.loads(line)
        live: Object = {}
        for step in items(record["steps"]):
            request, response = fields(fields(step).get("request")), fields(fields(step).get("response"))
            body, stored = fields(request.get("body")), fields(response.get("object"))
            kind = type_of(text(body.get("apiVersion")), text(body.get("kind")), in_scheme=True)
            same_version = live.get("apiVersion") == body.get("apiVersion") == stored.get("apiVersion")
            plain = request.get("verb") == "ssa" and not request.get("subresource")
            if plain and same_version and kind is not None and response.get("code") == 200:
                atom = atom_of(kind)
                manager = text(request.get("fieldManager"))
                result = applied(live, body, decode_managers(live), manager, atom) or live
                pruned_tree = without_nulls(result)
                assert isinstance(pruned_tree, dict)
                ours = without_empty(with_defaults(remarshal(pruned_tree), kind).get("spec"))
                theirs = without_empty(stored.get("spec"))
                if "statefulset" not in text(record["id"]):  # the server sets the kind of claim templates
                    assert ours == theirs, record["id"]
                checked += 1
            live = stored or live
    assert checked > 100

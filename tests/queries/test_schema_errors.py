"""Values of another type than Kubernetes wants: where they are, and what they would be in the right one."""

from __future__ import annotations

import pytest

from whysync.json_tree import MISSING, Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.last_applied import last_applied_manifest
from whysync.queries.schema_errors import has_schema, mistyped

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def service(**spec: Json) -> Manifest:
    body: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": dict(spec)}
    return Manifest(body, role=Role.DESIRED)


@pytest.mark.parametrize(
    ("spec", "pointer", "expected", "value"),
    [
        ({"ports": [{"port": 80}, {"port": "81"}]}, "/spec/ports/1/port", "int", 81),
        ({"ports": [{"port": "http"}]}, "/spec/ports/0/port", "int", MISSING),
        ({"ports": [{"port": True}]}, "/spec/ports/0/port", "int", MISSING),
        ({"ports": {"port": 80}}, "/spec/ports", "list", MISSING),
        ({"selector": {"a/b": 1}}, "/spec/selector/a~1b", "string", "1"),
        ({"selector": {"on": True}}, "/spec/selector/on", "string", "true"),
        ({"selector": {"on": False}}, "/spec/selector/on", "string", "false"),
        ({"selector": {"on": 1.5}}, "/spec/selector/on", "string", MISSING),
        ({"publishNotReadyAddresses": 1}, "/spec/publishNotReadyAddresses", "bool", MISSING),
        ({"publishNotReadyAddresses": "false"}, "/spec/publishNotReadyAddresses", "bool", False),
    ],
)
def test_a_value_of_the_wrong_type_is_found_and_converted(
    spec: Object, pointer: str, expected: str, value: Json
) -> None:
    (mistake,) = mistyped(service(**spec))
    assert (mistake.pointer, mistake.expected, mistake.value) == (pointer, expected, value)


def test_what_fits_and_what_nobody_knows_is_not_told() -> None:
    assert mistyped(service(ports=[{"port": 80, "targetPort": "http"}], selector=None, unknown="x")) == ()
    body: Object = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": "1"}}
    widget = Manifest(body, role=Role.DESIRED)
    assert (mistyped(widget), has_schema(widget)) == ((), False)


def test_numbers_with_a_fraction() -> None:
    def limits(value: Json) -> Manifest:
        schema: Object = {"openAPIV3Schema": {"maximum": value}}
        spec: Object = {"versions": [{"name": "v1", "schema": schema}]}
        kind = "CustomResourceDefinition"
        return Manifest(
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec},
            role=Role.DESIRED,
        )

    assert (mistyped(limits(1.5)), mistyped(limits(2))) == ((), ())
    for wrong in ("2", True):
        (mistake,) = mistyped(limits(wrong))
        assert (mistake.expected, mistake.expected_text, mistake.value) == ("float", "a number", MISSING)


def test_a_tree_without_end_is_no_trouble() -> None:
    deep: Json = "x"
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    schema: Object = {"versions": [{"schema": {"openAPIV3Schema": deep}}]}
    crd: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a"},
        "spec": schema,
    }
    assert mistyped(Manifest(crd, role=Role.DESIRED)) == ()


def live(kind: str, applied: str) -> Manifest:
    meta: Object = {"name": "a", "annotations": {LAST: applied}}
    return Manifest({"apiVersion": "v1", "kind": kind, "metadata": meta}, role=Role.LIVE)


def test_what_was_declared_once_is_known_from_what_was_applied_last() -> None:
    mark = '{"argocd.argoproj.io/tracking-id":"x"}'
    applied = f'{{"kind":"ConfigMap","metadata":{{"name":"a","annotations":{mark}}}}}'
    assert last_applied_manifest(live("ConfigMap", applied)) == {
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("kind", "applied"),
    [
        ("Secret", '{"kind":"Secret"}'),
        ("ConfigMap", "no json"),
        ("ConfigMap", '{"kind":"ConfigMap","data":{"a":"<masked 1>"}}'),
        ("ConfigMap", '{"kind":"ConfigMap","data":{"a":"\\u003cmasked 1\\u003e"}}'),
        ("ConfigMap", '{"kind":"ConfigMap","data":{"a":"' + "x" * 20_000 + '"}}'),
    ],
)
def test_what_is_not_known_in_full_is_not_told(kind: str, applied: str) -> None:
    assert last_applied_manifest(live(kind, applied)) is None
    assert last_applied_manifest(None) is None

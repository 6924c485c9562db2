"""The short cut for bodies without problems decodes as the code that reports problems does."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from whysync.json_tree import Json, Missing, Object, copy_object, dig
from whysync.kubernetes.api.yaml import load
from whysync.kubernetes.apiserver import decoding
from whysync.kubernetes.schema import Type, type_of
from whysync.manifests.schemas.built_in import built_in_violations, field_violations

OBJECTS = (
    """\
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: shop, generateName: x, labels: {app: web}, creationTimestamp: null, uid: a}
status: {}
spec:
  template:
    spec:
      containers:
        - image: web:1
          name: web
          env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
          resources: {limits: {cpu: 1000m, memory: 1}, requests: {}}
          ports: [{containerPort: 80, name: http}]
          readinessProbe: {httpGet: {port: http}}
          args: [a, b]
      volumes: [{name: v, emptyDir: {}}]
    metadata: {labels: {app: web}}
  selector: {matchLabels: {app: web}}
  replicas: 2
""",
    """\
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [a/b]}
spec: {ports: [{port: 80, targetPort: http}], selector: {app: web}, externalIPs: [10.0.0.1]}
""",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: YQ==}\nstringData: {b: c}\n",
)
VALUES: tuple[Json, ...] = (None, "", "x", 0, 1.5, True, [], {}, [None], ["x"], [{}], {"x": None}, {"x": {}})


def _bodies() -> Iterator[Object]:
    """Each object, and with another value in each place."""
    for text in OBJECTS:
        body = load(text)
        assert isinstance(body, dict)
        yield body
        for path in list(_paths(body)):
            for value in VALUES:
                yield _with(body, path, value)
            if isinstance(path[-1], str):
                yield _with(body, (*path[:-1], "unknown"), "x")


def _paths(node: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in inside:
        yield (*path, key)
        yield from _paths(child, (*path, key))


def _with(body: Object, path: tuple[str | int, ...], value: Json) -> Object:
    new = copy_object(body)
    node: Json | Missing = dig(new, *path[:-1])
    if isinstance(node, dict):
        node[str(path[-1])] = value
    elif isinstance(node, list):
        node[int(path[-1])] = value
    return new


def _type_of(body: Object) -> Type | None:
    return type_of(str(body.get("apiVersion")), str(body.get("kind")))


def test_results_are_equal() -> None:
    for body in _bodies():
        kind = _type_of(body)
        if kind is None:
            continue
        for stored in (False, True):
            short, full = (_result(body, kind, short=short, stored=stored) for short in (True, False))
            assert short == full, body


def _result(body: Object, kind: Type, *, short: bool, stored: bool) -> tuple[bytes, list[str]] | str:
    """The bytes show the order of the fields too."""
    unknown_fields = list[str]()
    try:
        if stored and short:
            decoded = decoding.rewrite(body, kind, stored=True)
        elif stored:
            marker = decoding._Stored()  # pyright: ignore[reportPrivateUsage]
            decoded = decoding._struct(body, kind.struct, "", marker)  # pyright: ignore[reportPrivateUsage]
        elif short:
            decoded, unknown_fields = decoding.decode(body, kind)
        else:
            decoded = decoding._struct(body, kind.struct, "", unknown_fields)  # pyright: ignore[reportPrivateUsage]
    except decoding.BadBody as problem:
        return str(problem)
    return msgspec.json.encode(decoded), unknown_fields


@pytest.mark.parametrize("release", [33, 36])
def test_no_violation_of_a_field_is_missed(release: int) -> None:
    for body in _bodies():
        api_version, kind = str(body.get("apiVersion")), str(body.get("kind"))
        expected = field_violations(body, api_version, kind, release)
        assert built_in_violations(body, api_version, kind, release)[: len(expected)] == expected, body

"""A file is split without decoding it only if that gives the same objects."""

from __future__ import annotations

import json

import pytest

from whysync.facts.bundle.encoded_objects import encoded_objects
from whysync.json_tree import Json, Object

BODY: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
}
OWNED: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1",
        "labels": {"app": "web"},
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "1"}],
    },
    "spec": {"args": ["--port=8080", 'say "hi"\n'], "n": [1, -2, True, None]},
}
LIST: Object = {"apiVersion": "v1", "kind": "List", "items": [BODY, OWNED]}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("document", "bodies"), [(LIST, [BODY, OWNED]), (OWNED, [OWNED])])
def test_heads_and_bodies(document: Object, bodies: list[Object], indent: int | None) -> None:
    file = encoded_objects(json.dumps(document, indent=indent).encode(), depth=256)
    assert file is not None
    assert [json.loads(encoded) for _, encoded in file.objects] == bodies
    assert not any(b"\n" in encoded for _, encoded in file.objects)
    head, _ = file.objects[-1]
    assert (head.api_version, head.kind, head.name, head.namespace) == ("v1", "Pod", "web-1", "")
    assert head.owners == (("ReplicaSet", "web"),)
    assert head.is_being_deleted
    assert {b"apiVersion", b"Pod", b"--port=0000"} <= set(file.texts)


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "kind: Pod",
        "{} {}",
        "\ufeff" + json.dumps(BODY),
        '{"apiVersion": "v1", "kind": 5}',
        '{"kind": "Pod", "metadata": {"name": "no version"}}',
        '{"apiVersion": "v1", "kind": "PodList", "items": []}',
        '{"apiVersion": "v1", "kind": "List", "items": [{"items": []}]}',
        '{"apiVersion": "v1", "kind": "List", "items": [null]}',
        '{"apiVersion": "whysync.dev/v1", "kind": "Bundle"}',
        *(json.dumps({**BODY, "spec": value}) for value in (1.5, 1e300, 10**19, deep(300))),
        json.dumps(BODY).replace('"web"', "5"),
        json.dumps(BODY).replace("web", "w\\u0065b"),
        json.dumps(BODY).replace("web", "a\\/b"),
        json.dumps({**BODY, "metadata": {"annotations": {"whysync.dev/role": "live"}}}),
        json.dumps(BODY)[:-1],
        json.dumps(BODY).replace("web", "\x01"),
    ],
)
def test_unusual_files_are_decoded(text: str) -> None:
    assert encoded_objects(text.encode(), depth=256) is None


def test_what_is_not_utf8_is_decoded() -> None:
    assert encoded_objects(json.dumps(BODY).encode().replace(b"web", b"\xff"), depth=256) is None


def test_of_a_repeated_key_the_last_counts() -> None:
    text = '{"apiVersion": "v1", "kind": "Pod", "kind": "Node", "metadata": {"name": "a", "name": "b"}}'
    file = encoded_objects(text.encode(), depth=256)
    assert file is not None
    [(head, _)] = file.objects
    assert (head.kind, head.name) == ("Node", "b")

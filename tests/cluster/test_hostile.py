"""Whatever is sent, the model answers: it never falls over."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.talk import Talk, config_map, definition, deployment, widget
from whysync.cluster.protocol import Request
from whysync.contracts.tree import Json, Object, copy_object

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)
service: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e.f/g"]},
    "spec": {"type": "NodePort", "ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
}
pod: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]},
}
secret: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "x"},
    "data": {"a": "eA=="},
    "stringData": {"b": "c"},
}
OBJECTS = [
    config_map(a="1"),
    deployment(replicas=2),
    service,
    pod,
    secret,
    widget({"size": 1, "l": [{"a": 1}]}),
]
VERBS = ["create", "update", "ssa", "merge-patch", "strategic-patch", "json-patch", "delete"]


def replaced(tree: Json, path: list[int], value: Json) -> Json:
    """The tree with something else at one of its places."""
    if not path or not isinstance(tree, (dict, list)) or not tree:
        return value
    if isinstance(tree, dict):
        key = sorted(tree)[path[0] % len(tree)]
        return {**tree, key: replaced(tree[key], path[1:], value)}
    at = path[0] % len(tree)
    return [*tree[:at], replaced(tree[at], path[1:], value), *tree[at + 1 :]]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(OBJECTS),
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    trees,
    st.sampled_from(VERBS),
)
def test_one_wrong_value_anywhere_gets_an_answer(
    obj: Object, path: list[int], value: Json, verb: str
) -> None:
    talk = Talk()
    talk.create(definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    talk.create(copy_object(obj))
    body = replaced(obj, path, value)
    where = talk.collection(obj) if verb == "create" else talk.path(obj)
    answer = talk.model.send(
        Request(verb=verb, path=where, body=body, manager="m", force=verb == "ssa" or None)
    )
    assert 200 <= answer.code < 600
    again = talk.model.send(Request(verb="get", path=talk.path(obj)))
    assert again.code in {200, 404}


@settings(max_examples=60, deadline=None)
@given(trees)
def test_any_schema_and_any_object_get_an_answer(tree: Json) -> None:
    talk = Talk()
    schema: Object = {"type": "object", "properties": {"spec": tree}}
    talk.create(definition(schema))
    answer = talk.create({**widget({}), "spec": tree})
    assert 200 <= answer.code < 600

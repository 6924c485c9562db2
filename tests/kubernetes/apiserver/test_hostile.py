"""Whatever is sent, the model answers: it never falls over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kubernetes.apiserver.talk import Talk, config_map, definition, deployment, widget
from whysync.json_tree import Json, Object, copy_object, fields, text
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.schema import Type, type_of

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
MANAGED: list[Json] = [
    {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:data": {".": {}, "f:a": {}}},
    }
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
    request_path = talk.collection(obj) if verb == "create" else talk.path(obj)
    answer = talk.api_server.send(
        Request(verb=verb, path=request_path, body=body, manager="m", force=verb == "ssa" or None)
    )
    assert 200 <= answer.code < 600
    again = talk.api_server.send(Request(verb="get", path=talk.path(obj)))
    assert again.code in {200, 404}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(OBJECTS), st.lists(st.integers(0, 9), min_size=1, max_size=6), trees)
def test_objects_that_were_loaded_with_a_wrong_value_get_an_answer(
    obj: Object, path: list[int], value: Json
) -> None:
    talk = Talk()
    talk.create(definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    parts: Object = {
        key: field for key, field in obj.items() if key not in ("apiVersion", "kind", "metadata")
    }
    result: Object = {**fields(obj["metadata"]), "namespace": "shop", "managedFields": MANAGED}
    loaded = fields(replaced({**parts, "metadata": result}, path, value))
    broken: Object = {**obj, **loaded, "metadata": {**fields(loaded.get("metadata")), "namespace": "shop"}}
    fields(broken["metadata"])["name"] = fields(obj["metadata"])["name"]
    talk.api_server.load([broken])
    label: Object = {"metadata": {"labels": {"new": "label"}}}
    for verb, body in (
        ("get", None),
        ("update", obj),
        ("merge-patch", label),
        ("ssa", obj),
        ("delete", None),
    ):
        request = Request(verb=verb, path=talk.path(obj), body=body, manager="m", force=verb == "ssa" or None)
        assert 200 <= talk.api_server.send(request).code < 600
    talk.api_server.settle()


@pytest.mark.parametrize("claims", [{"nonsense": {}}, {"f:data": {'k:{"a"': {}}}, {"f:data": "."}])
def test_owners_that_mean_nothing_are_dropped_by_an_update_and_stop_an_apply(claims: Object) -> None:
    talk = Talk()
    entry: Object = {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsV1": claims}
    result: Object = {"name": "cm", "namespace": "shop", "managedFields": [entry]}
    talk.api_server.load([{**config_map(a="1"), "metadata": result}])
    applied = talk.apply(config_map(a="2"), "argocd-controller")
    assert applied.code == 500
    assert "failed to decode managed fields: " in text((applied.body or {}).get("message"))
    updated = talk.patch(config_map(), {"data": {"a": "3"}})
    assert updated.code == 200
    assert "nonsense" not in str(updated.body)
    assert talk.apply(config_map(a="4"), "argocd-controller", force=True).ok


@settings(max_examples=60, deadline=None)
@given(trees)
def test_any_schema_and_any_object_get_an_answer(tree: Json) -> None:
    talk = Talk()
    schema: Object = {"type": "object", "properties": {"spec": tree}}
    talk.create(definition(schema))
    answer = talk.create({**widget({}), "spec": tree})
    assert 200 <= answer.code < 600


PATHS = st.one_of(
    st.sampled_from(
        [
            "/apis/apps/v1/namespaces/shop/deployments",
            "/api/v1/namespaces/shop/configmaps/cm/status",
            "/api/v1/nodes",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/api/v1/namespaces/shop/pods?labelSelector=a%3Db,!c&fieldSelector=status.phase=x",
            "/api/v1/namespaces/shop/pods?labelSelector=((",
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles",
            "/api/v1/namespaces/shop/limitranges",
            "/api/v1/namespaces/shop/resourcequotas",
            "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers",
        ]
    ),
    st.text("/abv1?=&.%", max_size=20).map(lambda text: f"/{text}"),
    st.text("/apisv1?=&.%", max_size=12).map(lambda text: f"/apis/apps/v1/{text}"),
)
ALL_VERBS = [*VERBS, "get", "list", "deletecollection", "nonsense"]
KIND_WORDS = st.sampled_from(
    ["v1", "apps/v1", "ConfigMap", "Deployment", "rbac.authorization.k8s.io/v1", "Role"]
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ALL_VERBS), PATHS, trees, KIND_WORDS, KIND_WORDS, st.sampled_from(["", "someone"]))
def test_any_request_gets_an_answer(
    verb: str, path: str, tree: Json, version: str, kind: str, user: str
) -> None:
    talk = Talk()
    bodies: list[Json] = [
        tree,
        {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": tree, "data": tree},
        {"apiVersion": version, "kind": kind, "metadata": tree, "rules": tree, "webhooks": tree},
    ]
    for body in bodies:
        answer = talk.api_server.send(Request(verb=verb, path=path, body=body, manager="m", user=user))
        assert 200 <= answer.code < 600
    talk.api_server.settle()


KINDS = sorted({(resource.api_version, resource.kind) for resource in built_in().values()})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(KINDS), trees, trees)
def test_any_body_of_any_kind_gets_an_answer(which: tuple[str, str], tree: Json, other: Json) -> None:
    talk = Talk()
    version, kind = which
    served = next(item for item in built_in().values() if (item.api_version, item.kind) == which)
    prefix = f"/apis/{version}" if served.group else f"/api/{version}"
    space = "/namespaces/shop" if served.namespaced else ""
    struct = type_of(version, kind)
    assert struct is not None
    parts: Object = {
        name: tree for name in struct.struct.fields if name not in {"metadata", "apiVersion", "kind"}
    }
    for spec in (tree, dict.fromkeys(_fields_of(struct), other)):
        body: Object = {**parts, "apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        answer = talk.api_server.send(
            Request(verb="create", path=f"{prefix}{space}/{served.plural}", body=body)
        )
        assert 200 <= answer.code < 600


def _fields_of(kind: Type) -> list[str]:
    spec = kind.struct.fields.get("spec")
    return list(spec.type.struct.fields) if spec is not None and spec.type.kind == "struct" else []


def test_deep_nesting_and_long_numbers_get_an_answer(talk: Talk) -> None:
    deep: Json = "x"
    for _ in range(5000):
        deep = {"a": deep}
    talk.create(definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    for body in (
        {**widget({}), "spec": deep},
        {**config_map(), "data": deep},
        {**deployment(), "spec": deep},
    ):
        assert 200 <= talk.create(body).code < 600
    huge: Object = {**deployment(), "spec": {"replicas": 10**400}}
    assert talk.create(huge).code == 400
    assert talk.create(config_map(a="\ud800")).code < 600

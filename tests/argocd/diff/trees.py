"""Objects for properties: any JSON, and objects of built-in kinds drawn along their types."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from whysync.json_tree import Json, Object
from whysync.kubernetes.schema import Field, Type, type_of

WORDS = ("a", "b", "web", "10%", "x.y/z")
KINDS = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("networking.k8s.io/v1", "Ingress"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
)
_DEPTH = 7

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9), st.text(max_size=5)
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcde"), inner, max_size=4)
    ),
    max_leaves=12,
)
custom_resources = st.fixed_dictionaries(
    {
        "apiVersion": st.just("example.com/v1"),
        "kind": st.just("Thing"),
        "metadata": st.just({"name": "x", "namespace": "ns"}),
        "spec": st.dictionaries(st.sampled_from("abcdef"), trees, max_size=5),
    }
)


@st.composite
def built_ins(draw: st.DrawFn) -> Object:
    """An object that its Go type can hold."""
    api_version, kind = draw(st.sampled_from(KINDS))
    schema = type_of(api_version, kind)
    assert schema is not None
    return draw(of_kind(api_version, kind))


@st.composite
def pairs_of_built_ins(draw: st.DrawFn) -> tuple[Object, Object, Object]:
    """Three objects of one kind and name: what was applied, what is desired, what is live."""
    api_version, kind = draw(st.sampled_from(KINDS))
    item = of_kind(api_version, kind)
    return draw(item), draw(item), draw(item)


# Strategies are made once: to make one anew for each field of each object costs more than all the rest.


@cache
def of_kind(api_version: str, kind: str) -> st.SearchStrategy[Object]:
    return _of_kind(api_version, kind)


@st.composite
def _of_kind(draw: st.DrawFn, api_version: str, kind: str) -> Object:
    schema = type_of(api_version, kind)
    assert schema is not None
    tree = draw(_struct(schema, _DEPTH))
    tree.pop("status", None)
    labels = draw(st.dictionaries(st.sampled_from(WORDS), st.sampled_from(WORDS), max_size=2))
    meta: Object = {"name": "x", "namespace": "ns"}
    if labels:
        meta["labels"] = {**labels}
    return {**tree, "apiVersion": api_version, "kind": kind, "metadata": meta}


@cache
def _struct(kind: Type, depth: int) -> st.SearchStrategy[Object]:
    fields = {name: field for name, field in kind.struct.fields.items() if name != "managedFields"}
    must = [
        name for name in ("spec", "template", "containers", "ports", "webhooks", "metadata") if name in fields
    ]
    others = sorted(set(fields) - {"apiVersion", "kind", *must})
    more = st.lists(st.sampled_from(others), max_size=3, unique=True) if others else st.just(list[str]())
    return _with_fields(fields, must, more, depth)


@st.composite
def _with_fields(
    draw: st.DrawFn, fields: dict[str, Field], must: list[str], more: st.SearchStrategy[list[str]], depth: int
) -> Object:
    chosen = [*must, *draw(more)]
    if depth <= 0:
        chosen = []
    tree: Object = {}
    for name in chosen:
        value = draw(_field(fields[name], depth - 1))
        if value is not None:
            tree[name] = value
    return tree


@cache
def _field(field: Field, depth: int) -> st.SearchStrategy[Json]:
    return _of_field(field, depth)


@st.composite
def _of_field(draw: st.DrawFn, field: Field, depth: int) -> Json:
    kind = field.type
    if kind.kind != "list":
        return draw(_value(kind, depth))
    keys = field.list_keys or ((field.merge_key,) if field.merge_key else ())
    if kind.of.kind == "struct" and keys:
        result: list[Json] = []
        for number in draw(st.lists(st.integers(1, 4), max_size=3, unique=True)):
            item = draw(_struct(kind.of, depth - 1))
            for key in keys:
                inner = kind.of.struct.fields[key].type
                item[key] = "TCP" if key == "protocol" else number if inner.kind == "int" else f"n{number}"
            if field.merge_key:
                inner = kind.of.struct.fields[field.merge_key].type
                item[field.merge_key] = number if inner.kind == "int" else f"n{number}"
            result.append(item)
        return result or None
    if depth <= 0:
        return None
    items = draw(st.lists(_value(kind.of, depth - 1), max_size=3, unique_by=repr))
    return [item for item in items if item is not None] or None


@cache
def _value(kind: Type, depth: int) -> st.SearchStrategy[Json]:
    match kind.kind:
        case "struct":
            return _struct(kind, depth)
        case "list":
            return st.lists(_value(kind.of, depth - 1), max_size=2) if depth > 0 else st.none()
        case "map":
            return _map(_value(kind.of, depth - 1))
        case "string":
            return st.sampled_from(("", *WORDS))
        case "bool":
            return st.booleans()
        case "int":
            return st.integers(0, 100)
        case "quantity":
            return st.sampled_from(("0", "1", "100m", "1000m", "0.5", "1024Mi", "1Gi", "1e3", "5n", 2, 0.25))
        case "int-or-string":
            return st.sampled_from((0, 1, 80, "http", "25%"))
        case "time" | "microtime":
            return st.none()
        case "bytes":
            return st.sampled_from(("", "YQ==", "<masked 3>"))
        case "duration":
            return st.sampled_from(("90s", "1m30s"))
        case _:
            return _map(st.integers(0, 3))


@st.composite
def _map(draw: st.DrawFn, values: st.SearchStrategy[Json] | st.SearchStrategy[int]) -> Json:
    keys = draw(st.lists(st.sampled_from(WORDS), max_size=2, unique=True))
    return {key: draw(values) for key in keys}

"""What must hold for any object: nothing changed is never refused, and what is valid passes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kubernetes.validation.status import invalid_status
from whysync.json_tree import Json, Object, copy_object, fields, text
from whysync.kubernetes.schema import type_of
from whysync.kubernetes.schema.defaults import with_defaults
from whysync.kubernetes.validation import problems_on_create, problems_on_update

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,12}[a-z0-9])?", fullmatch=True)
LABELS = st.dictionaries(
    NAMES, st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?", fullmatch=True)
)
QUANTITIES = st.sampled_from(["1", "100m", "1Gi", "512Mi", "2e3", "0.5"])
ANYTHING: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [
        ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("batch/v1", "Job"),
        ("batch/v1", "CronJob"), ("v1", "Pod"), ("v1", "Service"), ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"), ("v1", "Secret"), ("v1", "ConfigMap"), ("v1", "ResourceQuota"),
        ("v1", "LimitRange"), ("networking.k8s.io/v1", "Ingress"), ("networking.k8s.io/v1", "NetworkPolicy"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"), ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"), ("storage.k8s.io/v1", "StorageClass"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("example.com/v1", "Thing"),
    ]
)  # fmt: skip


@st.composite
def containers(draw: st.DrawFn) -> Json:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    amount = draw(QUANTITIES)
    return [
        {
            "name": name,
            "image": "registry.example/app:1",
            "ports": [{"containerPort": draw(st.integers(1, 65535))}],
            "env": [{"name": "A", "value": draw(st.text(max_size=5))}],
            "resources": {"requests": {"cpu": amount}, "limits": {"cpu": amount}},
        }
        for name in names
    ]


@st.composite
def workloads(draw: st.DrawFn) -> Object:
    """A valid object with its defaults."""
    labels = {"app": "x", **draw(LABELS)}
    pod: Object = {
        "containers": draw(containers()),
        "terminationGracePeriodSeconds": draw(st.integers(0, 600)),
    }
    template: Object = {"metadata": {"labels": {**labels}}, "spec": pod}
    matching: Json = {"matchLabels": {"app": "x"}}
    choices: list[tuple[str, str, Object]] = [
        ("apps/v1", "Deployment", {"selector": matching, "template": template}),
        ("apps/v1", "StatefulSet", {"selector": matching, "template": template, "serviceName": "s"}),
        ("apps/v1", "DaemonSet", {"selector": matching, "template": template}),
        ("apps/v1", "ReplicaSet", {"selector": matching, "template": template}),
        ("v1", "Pod", pod),
    ]
    version, kind, spec = draw(st.sampled_from(choices))
    meta: Object = {"name": draw(NAMES), "labels": {**labels}}
    obj: Object = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
    schema = type_of(version, kind)
    assert schema is not None
    return with_defaults(obj, schema)


@given(workloads())
def test_valid_objects_pass(obj: Object) -> None:
    assert problems_on_create(obj) == ()
    assert problems_on_update(obj, copy_object(obj)) == ()


@given(workloads(), st.integers(0, 50))
def test_a_container_without_image_never_passes(obj: Object, index: int) -> None:
    spec = fields(obj["spec"])
    containers = (
        spec["containers"] if obj["kind"] == "Pod" else fields(fields(spec["template"])["spec"])["containers"]
    )
    assert isinstance(containers, list)
    fields(containers[index % len(containers)])["image"] = ""
    problems = problems_on_create(obj)
    assert any(problem.path.endswith(f"containers[{index % len(containers)}].image") for problem in problems)


@given(KINDS, ANYTHING, ANYTHING, ANYTHING)
def test_whatever_comes_gets_an_answer(kind: tuple[str, str], meta: Json, spec: Json, data: Json) -> None:
    obj: Object = {
        "apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": spec, "data": data, "roleRef": data,
    }  # fmt: skip
    problems = problems_on_create(obj)
    if problems:
        status = invalid_status(kind[1], "", "x", problems)
        assert text(status["message"]).startswith(f'{kind[1]} "x" is invalid: ')


@given(KINDS, ANYTHING)
def test_what_did_not_change_is_no_immutable_field(kind: tuple[str, str], spec: Json) -> None:
    obj: Object = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, "spec": spec}
    assert not [p for p in problems_on_update(obj, copy_object(obj)) if "immutable" in p.detail]


JUNK: list[Json] = [None, True, -1, 3.5, "", "150%", "a b", [], [None], {}, {"a": None}, [{}], [[]], 10**30]


def _paths(tree: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, Json]] = []
    if isinstance(tree, dict):
        inner = list(tree.items())
    elif isinstance(tree, list):
        inner = list(enumerate(tree))
    return [
        *([path] if path else []),
        *(inner_path for key, item in inner for inner_path in _paths(item, (*path, key))),
    ]


def _with(tree: Json, path: tuple[str | int, ...], value: Json) -> Json:
    if not path:
        return value
    if isinstance(tree, dict):
        return {key: _with(item, path[1:], value) if key == path[0] else item for key, item in tree.items()}
    if isinstance(tree, list):
        return [_with(item, path[1:], value) if at == path[0] else item for at, item in enumerate(tree)]
    return tree


@given(workloads(), st.data())
def test_any_field_of_any_type_gets_an_answer(obj: Object, data: st.DataObject) -> None:
    field_path = data.draw(
        st.sampled_from([path for path in _paths(obj) if path[0] not in ("kind", "apiVersion")])
    )
    broken = fields(_with(obj, field_path, data.draw(st.sampled_from(JUNK))))
    problems_on_create(broken)
    problems_on_update(obj, broken)
    problems_on_update(broken, obj)

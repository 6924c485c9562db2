"""No object, however mangled, makes a check raise; and judging does not change the object."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.argocd.health.shipped.tables import tables
from whysync.argocd.health.shipped import judge
from whysync.json_tree import Json, Object

CHECKS = [(group, kind, check) for _, group, checks in tables() for kind, check in checks.items()]

NAMES = [
    "conditions",
    "type",
    "status",
    "reason",
    "message",
    "phase",
    "state",
    "replicas",
    "generation",
    "observedGeneration",
    "parents",
    "listeners",
    "health",
    "strategy",
    "updateStrategy",
    "rollingUpdate",
    "partition",
    "ceph",
    "details",
    "count",
    "nodeSets",
    "canaryWeight",
    "severity",
    "active",
    "paused",
]
WORDS = ["Ready", "True", "False", "Running", "Failed", "Progressing", "Available", "", "3"]


def _tables(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.dictionaries(st.sampled_from(NAMES), inner, max_size=5).map(_as_json)


def _lists(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=3).map(_as_json)


def _as_json(value: Json) -> Json:
    return value


def _with_conditions(conditions: Json) -> Json:
    return {"conditions": conditions}


scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=5),
)
values = st.recursive(scalars, lambda inner: st.one_of(_lists(inner), _tables(inner)), max_leaves=15)
parts = st.one_of(values, _tables(values), _lists(_tables(scalars)).map(_with_conditions))
objects: st.SearchStrategy[Object] = st.fixed_dictionaries(
    {}, optional={"kind": scalars, "metadata": parts, "spec": parts, "status": parts}
)


@settings(max_examples=60, deadline=None)
@given(obj=objects)
def test_judging_never_raises(obj: Object) -> None:
    before = repr(obj)
    for group, kind, check in CHECKS:
        verdict = judge(check, obj)
        assert isinstance(verdict.message, str), (group, kind)
    assert repr(obj) == before

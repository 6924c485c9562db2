"""Objects of any shape are compared or refused in words; nothing ends in a traceback."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from tests.argocd.compare.comparing import application, compared, config_map, live_config_map
from whysync.argocd.compare.ignored_fields import IgnoredFields
from whysync.json_tree import Json, Object, fields, items

JSON: st.SearchStrategy[Json] = cast(
    "st.SearchStrategy[Json]",
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
)
DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {
            "argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web",
            "argocd.argoproj.io/sync-options": "Prune=false",
            "argocd.argoproj.io/hook": "Skip",
        },
        "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}},
    },
    "status": {"replicas": 1},
}
PATHS: list[tuple[str | int, ...]] = [
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "uid"),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "annotations", "argocd.argoproj.io/tracking-id"),
    ("metadata", "annotations", "argocd.argoproj.io/hook"),
    ("metadata", "annotations", "argocd.argoproj.io/sync-options"),
    ("metadata", "managedFields"),
    ("metadata", "managedFields", 0),
    ("metadata", "managedFields", 0, "fieldsV1"),
    ("spec",),
    ("spec", "replicas"),
    ("spec", "template", "spec", "containers"),
    ("spec", "template", "spec", "containers", 0),
    ("status",),
]
RULE: Json = {"group": "*", "kind": "*", "jsonPointers": ["/spec/replicas"], "managedFieldsManagers": ["m"]}


def spoiled(path: tuple[str | int, ...], value: Json) -> Object:
    """The object above with another value at one of the paths above."""
    spoilt = _with(DEPLOYMENT, path, value)
    assert isinstance(spoilt, dict)
    return spoilt


def _with(tree: Json, path: tuple[str | int, ...], value: Json) -> Json:
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [
            _with(item, tuple(rest), value) if at == step else item for at, item in enumerate(items(tree))
        ]
    return {**fields(tree), step: _with(fields(tree).get(step), tuple(rest), value)}


@given(
    path=st.sampled_from(PATHS),
    other=st.sampled_from(PATHS),
    desired_value=JSON,
    live_value=JSON,
    ssa=st.booleans(),
)
def test_odd_shapes(
    path: tuple[str | int, ...],
    other: tuple[str | int, ...],
    desired_value: Json,
    live_value: Json,
    ssa: bool,
) -> None:
    policy: Json = {"syncOptions": ["ServerSideApply=true"] if ssa else []}
    app = application(spec={"ignoreDifferences": [RULE], "syncPolicy": policy})
    comparison = compared(
        app=app,
        targets=[spoiled(path, desired_value), config_map()],
        live=[spoiled(other, live_value), live_config_map(data={"a": "c"})],
    )
    ignored = IgnoredFields(comparison)
    for resource in comparison.resources:
        ignored.of(resource)
        if resource.diff is not None:
            assert resource.diff.modified or resource.diff.changes == ()
    ignored.idle_rules()
    assert comparison.status["sync"]

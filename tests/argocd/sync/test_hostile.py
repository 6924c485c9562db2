"""Objects of any shape: a sync may fail on them, but it always has an answer."""

from __future__ import annotations

from typing import NoReturn

from hypothesis import given
from hypothesis import strategies as st

from tests.argocd.compare.comparing import NOW, application
from tests.argocd.sync.objects import NAMESPACE
from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.settings import Settings
from whysync.argocd.sync.app_request import AppSync, NotCompared, SyncTarget
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step, terminate
from whysync.argocd.sync.sync_app_state import sync_app
from whysync.json_tree import Json, Object

KEYS = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "annotations",
        "finalizers",
        "spec",
        "status",
        "managedFields",
        "fieldsV1",
        "manager",
        "operation",
        "argocd.argoproj.io/hook",
        "argocd.argoproj.io/sync-wave",
        "argocd.argoproj.io/sync-options",
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(
        ["v1", "Namespace", "Job", "PreSync", "Sync", "Prune=confirm", "9" * 40, "Update", NAMESPACE]
    ),
)
JSON: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)
OBJECTS: st.SearchStrategy[Object] = st.dictionaries(KEYS, JSON, max_size=6)
STEPS = 3


@given(
    st.lists(st.tuples(OBJECTS, OBJECTS), max_size=3),
    st.lists(OBJECTS, max_size=3),
    st.booleans(),
)
def test_a_step_always_has_an_answer(
    pairs: list[tuple[Object, Object]], hooks: list[Object], ssa: bool
) -> None:
    odd = [Pair(None, live) for _, live in pairs] + [Pair(target, None) for target, _ in pairs]
    request = Request(
        namespace=NAMESPACE,
        revision="1",
        pairs=(*odd, *(Pair(target, live) for target, live in pairs)),
        hooks=tuple(hooks),
        options=SyncOptions(prune=True, server_side_apply=ssa),
        make_namespace=lambda bare, _live: bare,
    )
    ground = StubClusterOps()
    state = State()
    for _ in range(STEPS):
        state = step(state, request, ground)
    assert state.phase in {"Running", "Succeeded", "Failed", "Error"}
    assert terminate(state, request, ground).is_finished


@given(OBJECTS, JSON, JSON)
def test_a_sync_pass_always_returns_a_state(state: Object, operation: Json, result: Json) -> None:
    def refuse(_target: SyncTarget) -> NoReturn:
        raise NotCompared("not today")

    sync = AppSync(
        application=application(),
        project=AppProject(),
        settings=Settings(),
        clusters=(),
        compare=refuse,
        cluster_ops=lambda _user: StubClusterOps(),
        now=NOW,
    )
    operation_state: Object = {**state, "operation": {"sync": operation}, "syncResult": result}
    assert sync_app(sync, operation_state).operation_state["phase"] == "Error"

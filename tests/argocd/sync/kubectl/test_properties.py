"""What holds for whatever is applied."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.argocd.sync.kubectl.shop import (
    ARGOCD,
    DRY,
    SERVER_SIDE,
    Shop,
    a_config,
    a_definition,
    a_deployment,
    a_role,
    a_widget,
)
from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.json_tree import Json, Object

NAMES = st.sampled_from(["a", "b", "c-1"])
WORDS = st.text(max_size=6)
DATA = st.dictionaries(NAMES, WORDS, min_size=1, max_size=3)
LEAVES = st.booleans() | st.integers(-5, 5) | WORDS


def _trees(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    lists: st.SearchStrategy[Json] = st.lists(inner, max_size=3)
    maps: st.SearchStrategy[Json] = st.dictionaries(NAMES, inner, max_size=3)
    return lists | maps


TREES: st.SearchStrategy[Json] = st.recursive(LEAVES, _trees, max_leaves=8)
SPECS: st.SearchStrategy[Object] = st.dictionaries(NAMES, TREES, max_size=3)
NULLS: st.SearchStrategy[Json] = st.recursive(st.none() | LEAVES, _trees, max_leaves=8)
MODES = st.sampled_from([ARGOCD, SERVER_SIDE])


def _config(data: dict[str, str]) -> Object:
    return a_config(**data)


def _widget(spec: Object) -> Object:
    return {**a_widget(), "spec": spec}


def _deployment(image: str) -> Object:
    return a_deployment(image=image)


OBJECTS: st.SearchStrategy[Object] = (
    DATA.map(_config)
    | SPECS.map(_widget)
    | st.sampled_from(["api:1", "api:2"]).map(_deployment)
    | st.lists(st.sampled_from(["get", "list", "*"]), min_size=1, unique=True).map(lambda it: a_role(*it))
)


def _shop() -> Shop:
    shop = Shop()
    shop.apply(a_definition())
    return shop


@settings(max_examples=60)
@given(before=OBJECTS, desired=OBJECTS)
def test_what_is_applied_twice_is_unchanged_and_keeps_its_version(before: Object, desired: Object) -> None:
    shop = _shop()
    shop.apply(before)
    shop.apply(desired)
    version = shop.version(desired)
    assert shop.apply(desired).endswith(" unchanged")
    assert shop.version(desired) == version


@settings(max_examples=40)
@given(before=st.dictionaries(NAMES, NULLS, max_size=3), desired=st.dictionaries(NAMES, NULLS, max_size=3))
def test_nulls_may_be_sent_every_time_but_change_nothing(before: Object, desired: Object) -> None:
    shop = _shop()
    shop.apply(_widget(before))
    shop.apply(_widget(desired))
    version = shop.version(a_widget())
    shop.apply(_widget(desired))
    assert shop.version(a_widget()) == version


@settings(max_examples=40)
@given(desired=OBJECTS)
def test_what_is_applied_twice_on_the_server_keeps_its_version(desired: Object) -> None:
    shop = _shop()
    assert shop.apply(desired, SERVER_SIDE).endswith(" serverside-applied")
    version = shop.version(desired)
    assert shop.apply(desired, SERVER_SIDE).endswith(" serverside-applied")
    assert shop.version(desired) == version


@settings(max_examples=40)
@given(before=OBJECTS, mode=MODES, desired=OBJECTS)
def test_a_dry_run_writes_nothing(before: Object, mode: Mode, desired: Object) -> None:
    shop = _shop()
    shop.apply(before, mode)
    written = len(shop.api_server.store.journal)
    assert "(dry run)" in shop.apply(desired, DRY)
    assert len(shop.api_server.store.journal) == written


@settings(max_examples=40)
@given(first=SPECS, last=SPECS)
def test_the_live_object_has_the_spec_that_was_applied_last(first: Object, last: Object) -> None:
    shop, fresh = _shop(), _shop()
    shop.apply(_widget(first))
    shop.apply(_widget(last))
    fresh.apply(_widget(last))
    assert shop.live(a_widget())["spec"] == fresh.live(a_widget())["spec"]


@settings(max_examples=60)
@given(obj=st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "rules"]), NULLS))
def test_nonsense_is_refused_with_a_message(obj: Object) -> None:
    ground = Shop().cluster_ops
    for kind in ("ConfigMap", "Role"):
        typed: Object = {**obj, "apiVersion": "v1" if kind == "ConfigMap" else "rbac.authorization.k8s.io/v1"}
        typed["kind"] = kind
        for act in (ground.apply, ground.create, ground.replace):
            for mode in (ARGOCD, DRY, SERVER_SIDE):
                assert _outcome(act, typed, mode)


def _outcome(act: Callable[[Object, Mode], str], obj: Object, mode: Mode) -> str:
    try:
        return act(obj, mode)
    except Refused as problem:
        return problem.message


def test_what_the_server_drops_is_sent_every_time_and_changes_nothing() -> None:
    """As kubectl: an empty map differs from none, for it."""
    shop = Shop()
    shop.apply(a_config())
    version = shop.version(a_config())
    assert shop.apply(a_config()) == "configmap/settings configured"
    assert shop.version(a_config()) == version


def test_what_nests_too_deep_is_refused() -> None:
    deep: Json = {}
    for _ in range(100_000):
        deep = {"a": deep}
    shop = _shop()
    odd: Object = {**a_widget(), "spec": deep}
    for mode in (ARGOCD, SERVER_SIDE):
        assert shop.apply(odd, mode).startswith("refused: ")

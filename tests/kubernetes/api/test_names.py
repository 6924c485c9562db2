"""Pointers, references and the readers of raw trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees import objects, trees
from whysync.json_tree import MISSING, Json, Object, copy, dig, fields, integer, items, text
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, Ref, group_of, ref_of, version_of

PARTS = st.lists(st.text(max_size=6), max_size=5)


@given(PARTS)
def test_a_pointer_splits_into_what_it_was_joined_of(parts: list[str]) -> None:
    assert pointer.split(pointer.join(parts)) == tuple(parts)


@given(PARTS, st.text(max_size=6))
def test_a_child_is_one_part_more(parts: list[str], last: str) -> None:
    below = pointer.child(pointer.join(parts), last)
    assert below == pointer.join([*parts, last])
    assert pointer.within(below, pointer.join(parts))
    assert pointer.within(below, below)
    assert not pointer.within(pointer.join(parts), below)


def test_a_neighbour_is_not_within() -> None:
    assert not pointer.within("/spec/replicasMax", "/spec/replicas")


def every_place(tree: Json, parts: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Json]]:
    result: list[tuple[tuple[str | int, ...], Json]] = [(parts, tree)]
    if isinstance(tree, dict):
        for key, value in tree.items():
            result += every_place(value, (*parts, key))
    if isinstance(tree, list):
        for index, value in enumerate(tree):
            result += every_place(value, (*parts, index))
    return result


@given(trees())
def test_every_place_is_found_by_its_pointer(tree: Json) -> None:
    for parts, value in every_place(tree):
        assert pointer.resolve(tree, pointer.join(parts)) is value
        assert dig(tree, *parts) is value


@pytest.mark.parametrize(
    "lost", ["/spec/none", "/spec/list/7", "/spec/list/-1", "/spec/list/x", "/spec/word/0"]
)
def test_a_pointer_that_leads_nowhere_is_missing(lost: str) -> None:
    body: Object = {"spec": {"list": [1, 2], "word": "text"}}
    assert pointer.resolve(body, lost) is MISSING


def test_what_is_no_pointer_is_refused() -> None:
    with pytest.raises(ValueError, match="starts with '/'"):
        pointer.split("spec/replicas")


def test_null_is_a_value_and_missing_is_none_at_all() -> None:
    assert pointer.resolve({"a": None}, "/a") is None
    assert not MISSING
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    ("api_version", "group", "version"),
    [("apps/v1", "apps", "v1"), ("v1", "", "v1"), ("", "", ""), ("a.b/c/v2", "a.b/c", "v2")],
)
def test_group_and_version(api_version: str, group: str, version: str) -> None:
    assert (group_of(api_version), version_of(api_version)) == (group, version)


def test_the_version_does_not_tell_objects_apart() -> None:
    first = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")
    other = Ref(group="apps", version="v1beta1", kind="Deployment", namespace="shop", name="web")
    assert first != other
    assert first.key == other.key == Key("apps", "Deployment", "shop", "web")
    assert str(first) == "Deployment shop/web"
    assert str(first.key) == "apps/Deployment/shop/web"
    assert first.api_version == "apps/v1"
    assert Ref(version="v1", kind="Node", name="n1").place == "n1"
    assert Ref(version="v1", kind="Node", name="n1").api_version == "v1"


@given(objects())
def test_any_object_has_a_name_of_some_kind(body: Object) -> None:
    manifest = Manifest(body, role=Role.LIVE)
    assert manifest.ref == ref_of(body)
    assert isinstance(str(manifest.ref), str)
    for section in (manifest.meta, manifest.annotations, manifest.labels, manifest.spec, manifest.status):
        assert isinstance(section, dict)
    assert manifest.with_body(body).ref == manifest.ref


@given(trees())
def test_readers_answer_with_their_own_type(tree: Json) -> None:
    assert isinstance(fields(tree), dict)
    assert isinstance(items(tree), list)
    assert isinstance(text(tree), str)
    assert type(integer(tree)) is int
    assert copy(tree) == tree


def test_a_bool_is_no_number() -> None:
    assert integer(True, 7) == 7
    assert integer(3.0) == 3
    assert integer(3.5, 7) == 7
    assert integer("3", 7) == 7


def test_a_copy_shares_nothing() -> None:
    tree: Object = {"a": [{"b": 1}]}
    fields(items(fields(copy(tree))["a"])[0])["b"] = 2
    assert tree == {"a": [{"b": 1}]}


@pytest.mark.parametrize("index", ["9" * 5000, "1", "-1", "٠", "²", ""])
def test_an_invalid_list_index_resolves_to_nothing(index: str) -> None:
    assert pointer.resolve(["only"], f"/{index}") is MISSING

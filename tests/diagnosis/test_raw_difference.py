"""The plain difference of two trees, and whether two spellings mean one value."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.trees import objects, trees
from whysync.diagnosis.drift.equivalent_values import Equivalence, equivalence_of
from whysync.diagnosis.drift.raw_difference import Difference, differences, same
from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api import pointer


def found(desired: Json, live: Json) -> list[tuple[str, Json | Missing, Json | Missing]]:
    return [
        (difference.pointer, difference.desired_value, difference.live_value)
        for difference in differences(desired, live)
    ]


@given(trees())
def test_equal_trees_have_no_difference(tree: Json) -> None:
    assert found(tree, tree) == []


@given(objects(), objects())
def test_what_differs_is_told_and_nothing_else(desired: Object, live: Object) -> None:
    every = list(differences(desired, live))
    assert bool(every) == (not deeply_same(desired, live))
    for one in every:
        assert (
            isinstance(one.desired_value, Missing)
            or isinstance(one.live_value, Missing)
            or not deeply_same(one.desired_value, one.live_value)
        )
        side = desired if isinstance(one.live_value, Missing) else live
        value = one.desired_value if isinstance(one.live_value, Missing) else one.live_value
        at = pointer.resolve(side, one.pointer)
        assert not isinstance(at, Missing)
        assert not isinstance(value, Missing)
        assert deeply_same(at, value), "the pointer leads to the value"


def deeply_same(one: Json, other: Json) -> bool:
    """Equal as JSON, lists in any order of their named elements: the slow way."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(deeply_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) == len(other) and all(deeply_same(a, b) for a, b in zip(one, other, strict=True)):
            return True
        return not list(differences(one, other))
    return same(one, other)


def test_elements_of_a_list_are_paired_by_their_name() -> None:
    desired: Json = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]
    live: Json = [
        {"name": "b", "image": "b:2"},
        {"name": "sidecar", "image": "s"},
        {"name": "a", "image": "a:1"},
    ]
    assert found(desired, live) == [
        ("/1", MISSING, {"name": "sidecar", "image": "s"}),
        ("/0/image", "b:1", "b:2"),
    ]


def test_a_name_that_stands_twice_pairs_nothing() -> None:
    desired: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 2}]
    live: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 3}]
    assert found(desired, live) == [("/1/x", 2, 3)]


def test_a_word_among_objects_is_compared_by_place() -> None:
    assert found([{"name": "a"}, "b"], [{"name": "a"}, "c"]) == [("/1", "b", "c")]


def test_true_is_not_one() -> None:
    assert found({"a": True}, {"a": 1}) == [("/a", True, 1)]
    assert found({"a": 0}, {"a": False}) == [("/a", 0, False)]
    assert same(1, 1.0)


def test_deep_inside_true_is_not_one_either() -> None:
    assert found({"a": {"b": [{"c": True}]}}, {"a": {"b": [{"c": 1}]}}) == [("/a/b/0/c", True, 1)]


def test_a_tree_deeper_than_pythons_stack() -> None:
    wanted: Json = "git"
    live: Json = "live"
    for _ in range(5_000):
        wanted, live = {"a": wanted}, {"a": live}
    (only,) = differences(wanted, live)
    assert only == Difference("/a" * 5_000, "git", "live")


@pytest.mark.parametrize(
    ("wanted", "live", "how"),
    [
        ("1000m", "1", Equivalence.QUANTITY),
        ("0.5", "500m", Equivalence.QUANTITY),
        ("1Gi", "1024Mi", Equivalence.QUANTITY),
        (1, "1", Equivalence.NUMBER),
        ("true", True, Equivalence.NUMBER),
        ("90s", "1m30s", Equivalence.DURATION),
        ("24h", "24h0m0s", Equivalence.DURATION),
        ("a  b\n", "a b", Equivalence.SPACE),
        (["b", "a"], ["a", "b"], Equivalence.ORDER),
        ([], None, Equivalence.EMPTY),
        ({}, MISSING, Equivalence.EMPTY),
        ({"a": {"b": []}}, MISSING, Equivalence.EMPTY),
        (None, MISSING, Equivalence.EMPTY),
        (False, MISSING, Equivalence.ZERO),
        (0, MISSING, Equivalence.ZERO),
        (MISSING, {}, Equivalence.EMPTY),
    ],
)
def test_one_value_in_two_spellings(wanted: Json | Missing, live: Json | Missing, how: Equivalence) -> None:
    assert equivalence_of(wanted, live) is how


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ("1000m", "2"),
        ("90s", "90m"),
        (1, 2),
        (True, 1),
        (1, True),
        (True, "yes"),
        (["a", "a"], ["a", "b"]),
        (["a"], ["a", "a"]),
        ({"a": 1}, {"a": 2}),
        ({"a": [1]}, MISSING),
        (MISSING, 0),
        (MISSING, False),
        ("a", "b"),
        ("v1.10", "v1.1"),
        ("1.10", "1.1.0"),
        ("", "x"),
    ],
)
def test_two_values(wanted: Json | Missing, live: Json | Missing) -> None:
    assert equivalence_of(wanted, live) is None


@given(trees(), trees())
def test_any_two_values_can_be_asked_about(one: Json, other: Json) -> None:
    equivalence_of(one, other)
    equivalence_of(one, MISSING)
    equivalence_of(MISSING, other)


@pytest.mark.parametrize("long", ["9" * 5_000, "1e999999999", "0." + "0" * 5_000 + "1", "1h" * 5_000])
def test_endless_numbers_are_answered_soon(long: str) -> None:
    assert equivalence_of(long, "1") is None

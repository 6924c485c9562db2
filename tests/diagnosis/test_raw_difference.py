"""The plain difference of two trees, and whether two spellings mean one value."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.trees import objects, trees
from whysync.diagnosis.drift.equivalent_values import Equivalence, equivalence_of
from whysync.diagnosis.drift.raw_difference import Difference, differences, same
from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api import pointer


def difference_tuples(desired: Json, live: Json) -> list[tuple[str, Json | Missing, Json | Missing]]:
    return [
        (difference.pointer, difference.desired_value, difference.live_value)
        for difference in differences(desired, live)
    ]


@given(trees())
def test_equal_trees_have_no_difference(tree: Json) -> None:
    assert difference_tuples(tree, tree) == []


@given(objects(), objects())
def test_exactly_the_differences_are_reported(desired: Object, live: Object) -> None:
    every = list(differences(desired, live))
    assert bool(every) == (not deeply_same(desired, live))
    for difference in every:
        assert (
            isinstance(difference.desired_value, Missing)
            or isinstance(difference.live_value, Missing)
            or not deeply_same(difference.desired_value, difference.live_value)
        )
        side = desired if isinstance(difference.live_value, Missing) else live
        value = (
            difference.desired_value if isinstance(difference.live_value, Missing) else difference.live_value
        )
        at = pointer.resolve(side, difference.pointer)
        assert not isinstance(at, Missing)
        assert not isinstance(value, Missing)
        assert deeply_same(at, value), "the pointer leads to the value"


def deeply_same(left: Json, right: Json) -> bool:
    """Equal as JSON, with lists of named elements in any order: a slow reference implementation."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(deeply_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) == len(right) and all(deeply_same(a, b) for a, b in zip(left, right, strict=True)):
            return True
        return not list(differences(left, right))
    return same(left, right)


def test_elements_of_a_list_are_paired_by_their_name() -> None:
    desired: Json = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]
    live: Json = [
        {"name": "b", "image": "b:2"},
        {"name": "sidecar", "image": "s"},
        {"name": "a", "image": "a:1"},
    ]
    assert difference_tuples(desired, live) == [
        ("/1", MISSING, {"name": "sidecar", "image": "s"}),
        ("/0/image", "b:1", "b:2"),
    ]


def test_a_name_that_stands_twice_pairs_nothing() -> None:
    desired: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 2}]
    live: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 3}]
    assert difference_tuples(desired, live) == [("/1/x", 2, 3)]


def test_a_word_among_objects_is_compared_by_place() -> None:
    assert difference_tuples([{"name": "a"}, "b"], [{"name": "a"}, "c"]) == [("/1", "b", "c")]


def test_true_is_not_one() -> None:
    assert difference_tuples({"a": True}, {"a": 1}) == [("/a", True, 1)]
    assert difference_tuples({"a": 0}, {"a": False}) == [("/a", 0, False)]
    assert same(1, 1.0)


def test_deep_inside_true_is_not_one_either() -> None:
    assert difference_tuples({"a": {"b": [{"c": True}]}}, {"a": {"b": [{"c": 1}]}}) == [("/a/b/0/c", True, 1)]


def test_a_tree_deeper_than_pythons_stack() -> None:
    desired: Json = "git"
    live: Json = "live"
    for _ in range(5_000):
        desired, live = {"a": desired}, {"a": live}
    (only,) = differences(desired, live)
    assert only == Difference("/a" * 5_000, "git", "live")


@pytest.mark.parametrize(
    ("desired", "live", "how"),
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
def test_one_value_in_two_spellings(desired: Json | Missing, live: Json | Missing, how: Equivalence) -> None:
    assert equivalence_of(desired, live) is how


@pytest.mark.parametrize(
    ("desired", "live"),
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
def test_two_values(desired: Json | Missing, live: Json | Missing) -> None:
    assert equivalence_of(desired, live) is None


@given(trees(), trees())
def test_any_two_values_can_be_asked_about(left: Json, right: Json) -> None:
    equivalence_of(left, right)
    equivalence_of(left, MISSING)
    equivalence_of(MISSING, right)


@pytest.mark.parametrize("long", ["9" * 5_000, "1e999999999", "0." + "0" * 5_000 + "1", "1h" * 5_000])
def test_endless_numbers_are_answered_soon(long: str) -> None:
    assert equivalence_of(long, "1") is None

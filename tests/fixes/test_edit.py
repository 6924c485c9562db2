"""Edits on raw objects: each kind, on a copy, and never a crash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees import objects, trees
from whysync.diagnosis.fix import Add, Edit, Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Object, copy_object
from whysync.kubernetes.api import pointer

BODY: Object = {"spec": {"replicas": 1, "list": [{"name": "a"}, {"name": "b"}], "word": "x"}}
PARTS = st.lists(st.sampled_from(["a", "b", "spec", "name", "x/y", "0", "1", "t~w"]), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("edit", "at", "value"),
    [
        (Set(pointer="/spec/replicas", value=3), "/spec/replicas", 3),
        (Set(pointer="/spec/new/deep", value={"a": 1}), "/spec/new/deep", {"a": 1}),
        (Set(pointer="/spec/list/1/name", value="c"), "/spec/list/1/name", "c"),
        (Set(pointer="/spec/list/0", value="x"), "/spec/list/0", "x"),
        (Set(pointer="/metadata/annotations/a~1b", value="c"), "/metadata/annotations", {"a/b": "c"}),
        (Remove(pointer="/spec/replicas"), "/spec/replicas", MISSING),
        (Remove(pointer="/spec/list/0"), "/spec/list", [{"name": "b"}]),
        (Add(pointer="/spec/list", value="c"), "/spec/list/2", "c"),
        (Add(pointer="/spec/list", value={"name": "a"}), "/spec/list", [{"name": "a"}, {"name": "b"}]),
        (Add(pointer="/spec/fresh", value=1), "/spec/fresh", [1]),
    ],
)
def test_an_edit(edit: Edit, at: str, value: Json) -> None:
    assert pointer.resolve(edited(BODY, [edit]), at) == value


@pytest.mark.parametrize(
    "edit",
    [
        Remove(pointer="/spec/none/at/all"),
        Remove(pointer="/spec/list/9"),
        Remove(pointer="/spec/word/x"),
        Set(pointer="/spec/list/9/x", value=1),
        Set(pointer="/spec/list/x", value=1),
        Add(pointer="/spec/list/0", value=1),
    ],
)
def test_an_edit_that_leads_nowhere_changes_nothing(edit: Edit) -> None:
    assert edited(BODY, [edit]) == BODY


@given(objects(), PARTS, trees())
def test_set_values_exist_and_removed_values_do_not(body: Object, parts: list[str], value: Json) -> None:
    at = pointer.join(parts)
    before = copy_object(body)
    after = edited(body, [Set(pointer=at, value=value)])
    assert body == before, "the original is not modified"
    if pointer.resolve(after, at) is not MISSING:
        removed = edited(after, [Remove(pointer=at)])
        assert parts[-1].isdecimal() or pointer.resolve(removed, at) is MISSING
    added = edited(body, [Add(pointer=at, value=value)])
    assert edited(added, [Add(pointer=at, value=value)]) == added, "adding twice is adding once"


def test_the_value_of_an_edit_is_not_shared() -> None:
    value: Object = {"a": []}
    after = edited({}, [Set(pointer="/x", value=value), Add(pointer="/x/a", value=1)])
    assert after == {"x": {"a": [1]}}
    assert value == {"a": []}

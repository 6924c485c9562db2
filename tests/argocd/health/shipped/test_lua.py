"""Where Python and Lua would disagree, Lua is right."""

from __future__ import annotations

import pytest

from whysync.argocd.health.shipped import lua
from whysync.json_tree import Json


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"a": 1}, 1), ({}, None), ({"a": None}, None), ([1], None), ("text", None)],
)
def test_a_field_of_a_table_or_text(value: Json, expected: Json) -> None:
    assert lua.at(value, "a") == expected


@pytest.mark.parametrize(("value", "name"), [(None, "nil"), (3, "number"), (False, "boolean")])
def test_a_field_of_anything_else_is_an_error(value: Json, name: str) -> None:
    with pytest.raises(lua.LuaError) as error:
        lua.at(value, "a")
    assert str(error.value) == f"attempt to index a non-table object({name}) with key 'a'"


@pytest.mark.parametrize("value", [0, "", [], {}])
def test_zero_and_empty_things_are_true(value: Json) -> None:
    assert lua.truthy(value)
    assert not lua.truthy(None)
    assert not lua.truthy(False)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        ("1", 1, False),
        (None, None, True),
        ([], [], False),
        ({"a": 1}, {"a": 1}, False),
    ],
)
def test_equality_never_crosses_types_and_tables_are_themselves_only(
    left: Json, right: Json, expected: bool
) -> None:
    assert lua.same(left, right) is expected
    assert lua.same(right, left) is expected


def test_order_is_for_two_numbers_or_two_texts() -> None:
    assert lua.less(1, 1.5)
    assert lua.less("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z")
    for left, right in ((1, "2"), (None, 1), (True, 2)):
        with pytest.raises(lua.LuaError, match="attempt to compare"):
            lua.less(left, right)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        ("3", 3),
        (" 3\n", 3),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e3", None),
        ("6c6bb7cf6f", None),
        ("1_0", None),
        ("", None),
        ("9" * 30, None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_tonumber(value: Json, expected: float | None) -> None:
    assert lua.to_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [([1, None, 2], 2), ([], 0), ({"a": 1}, 0), ("über", 5)],
)
def test_length(value: Json, expected: int) -> None:
    assert lua.length(value) == expected


def test_nulls_are_dropped_from_lists_and_named_fields_are_for_pairs_only() -> None:
    assert list(lua.ipairs([None, "a", None, "b"])) == ["a", "b"]
    assert list(lua.ipairs({"a": 1})) == []
    assert list(lua.pairs({"a": 1, "b": None, "c": 2})) == [1, 2]
    for walk in (lua.ipairs, lua.pairs):
        with pytest.raises(lua.LuaError, match="table expected, got nil"):
            walk(None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "3"),
        (3.0, "3"),
        (1.5, "1.5"),
        (-0.25, "-0.25"),
        (2**53 + 1, "9007199254740992"),
        (10**400, "+Inf"),
    ],
)
def test_numbers_are_written_as_lua_writes_them(value: float, expected: str) -> None:
    assert lua.concat(value) == expected


def test_concat_takes_text_and_numbers_only() -> None:
    assert lua.concat("a", 1, "b") == "a1b"
    wrong: list[Json] = [None, True, [], {}]
    for operand in wrong:
        with pytest.raises(lua.LuaError, match="cannot perform concat operation between string and"):
            lua.concat("a", operand)


def test_join_names_the_place_of_what_it_cannot_write() -> None:
    assert lua.joined(["a", 1], "; ") == "a; 1"
    with pytest.raises(lua.LuaError, match=r"invalid value \(table\) at index 2"):
        lua.joined(["a", {}], "; ")


def test_arithmetic_takes_text_that_reads_as_a_number() -> None:
    assert lua.number("2") + lua.number(1) == 3
    assert lua.number("1e3") == 1000
    assert lua.number(10**400) == float("inf")
    with pytest.raises(lua.LuaError):
        lua.number(None)

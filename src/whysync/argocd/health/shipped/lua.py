"""Lua semantics that affect health checks, as plain functions over raw JSON.

Argo CD assesses custom kinds with Lua scripts; a script that fails on an object results in Unknown with Lua's
error. These functions fail in the same cases with the messages of gopher-lua, which Argo CD uses. `null` and
a missing field are both nil, and Argo CD removes `null`s from lists that it passes to a script.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json

_EXACT: Final = 2**53  # Lua numbers are floats: larger integers lose precision
_HUGE: Final = 2**63


class LuaError(Exception):
    """A Lua error. Argo CD shows the text with a line number, which is missing here."""


def type_name(value: Json) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case _:
            return "table"


def at(value: Json, key: str) -> Json:
    """`value.key`: nil on a table without it and on a string, an error on nil, a number and a boolean."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list | str):
        return None
    raise LuaError(f"attempt to index a non-table object({type_name(value)}) with key '{key}'")


def truthy(value: Json) -> bool:
    """Only nil and false are false: `0`, `""` and an empty table are true."""
    return value is not None and value is not False


def same(left: Json, right: Json) -> bool:
    """`==`: never true for different types; two tables are equal only if they are identical."""
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, dict | list):
        return left is right
    return left == right


def less(left: Json, right: Json) -> bool:
    """`<`, for two numbers or two strings."""
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    booleans = isinstance(left, bool) or isinstance(right, bool)
    if isinstance(left, int | float) and isinstance(right, int | float) and not booleans:
        return left < right
    raise LuaError(f"attempt to compare {type_name(left)} with {type_name(right)}")


def at_least(left: Json, right: Json) -> bool:
    return not less(left, right)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Json) -> int | float:
    """An operand of `+` or `-`; numeric strings are converted."""
    result = to_number(value)
    if result is None and isinstance(value, str):
        result = _float(value)
    if result is None:
        raise LuaError(f"cannot perform arithmetic on a {type_name(value)} value")
    if abs(result) < _HUGE:
        return result
    return math.inf if result > 0 else -math.inf


def to_number(value: Json) -> int | float | None:
    """`tonumber(value)`. In gopher-lua, a string without a point must be an integer: `"1e3"` is nil."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    digits = value.strip(" \n\t")
    if "." in digits:
        return _float(digits)
    base, digits = (16, digits[2:]) if digits[:2].lower() == "0x" else (10, digits)
    return _parse_integer(digits, base)


def _parse_integer(digits: str, base: int) -> int | None:
    if len(digits) > 20 or "_" in digits or " " in digits or not digits.isascii():
        return None
    try:
        parsed = int(digits, base)
    except ValueError:
        return None
    return parsed if -_HUGE <= parsed < _HUGE else None


def _float(digits: str) -> float | None:
    if len(digits) > 400 or "_" in digits or not digits.isascii():
        return None
    try:
        return float(digits)
    except ValueError:
        return None


def length(value: Json) -> int:
    """`#value`: a table with named fields counts as empty."""
    if isinstance(value, list):
        return len(value) - value.count(None)
    if isinstance(value, dict):
        return 0
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass"))
    raise LuaError("__len undefined")


def is_empty(table: Json) -> bool:
    """`next(table) == nil`."""
    if isinstance(table, dict):
        return all(item is None for item in table.values())
    if isinstance(table, list):
        return length(table) == 0
    raise LuaError(f"bad argument #1 to next (table expected, got {type_name(table)})")


def ipairs(value: Json) -> Iterable[Json]:
    """The entries of a list; none of a table with named fields."""
    if isinstance(value, list):
        return [item for item in value if item is not None] if None in value else value
    if isinstance(value, dict):
        return ()
    raise LuaError(f"bad argument #1 to ipairs (table expected, got {type_name(value)})")


def pairs(value: Json) -> Iterable[Json]:
    """The entries of a list, or the values of named fields in their order."""
    if isinstance(value, dict):
        return [item for item in value.values() if item is not None]
    if isinstance(value, list):
        return ipairs(value)
    raise LuaError(f"bad argument #1 to pairs (table expected, got {type_name(value)})")


def number_text(value: int | float) -> str:
    """A number as Lua prints it: `3.0` is `3`."""
    if abs(value) >= _HUGE:
        return repr(float(value)) if abs(value) < 1e308 else "+Inf"
    if isinstance(value, int):
        return str(value if abs(value) <= _EXACT else int(float(value)))
    return str(int(value)) if value.is_integer() else repr(value)


def concat(*values: Json) -> str:
    """`a .. b .. c`, for strings and numbers."""
    pieces: list[str] = []
    for value in values:
        if isinstance(value, str):
            pieces.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            pieces.append(number_text(value))
        else:
            sides = ("string", type_name(value)) if pieces else (type_name(value), "string")
            raise LuaError(f"cannot perform concat operation between {sides[0]} and {sides[1]}")
    return "".join(pieces)


def at_path(obj: Json, *keys: str) -> Json:
    """`obj.a.b.c`: an error if any field but the last is missing."""
    for key in keys:
        obj = at(obj, key)
    return obj


def maybe(obj: Json, *keys: str) -> Json:
    """`obj.a and obj.a.b …`: nil if any field is missing."""
    for key in keys:
        if obj is None:
            return None
        obj = at(obj, key)
    return obj


def numbered(value: Json) -> Iterable[tuple[Json, Json]]:
    """`pairs` with keys: positions from 1 for a list, names for named fields."""
    if isinstance(value, dict):
        return [(key, item) for key, item in value.items() if item is not None]
    return enumerate(pairs(value), start=1)


def joined(value: Json, separator: str) -> str:
    """`table.concat(value, separator)`, for strings and numbers."""
    if not isinstance(value, list | dict):
        raise LuaError(f"bad argument #1 to concat (table expected, got {type_name(value)})")
    pieces: list[str] = []
    for position, item in enumerate(ipairs(value), start=1):
        if not isinstance(item, str) and not is_number(item):
            raise LuaError(f"invalid value ({type_name(item)}) at index {position} in table for concat")
        pieces.append(concat(item))
    return separator.join(pieces)

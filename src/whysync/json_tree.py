"""Raw JSON trees, and how to read them without trusting their shape.

Objects come from clusters, files and people. These readers answer an absent or ill-typed value with
the empty one of the wanted type, so that the code above them asks one question, not three.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Object: TypeAlias = dict[str, Json]


class Missing:
    """The answer for a path that leads nowhere: unlike `None`, which is a value that was written."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing()


def fields(value: Json | Missing) -> Object:
    return value if isinstance(value, dict) else {}


def items(value: Json | Missing) -> list[Json]:
    return value if isinstance(value, list) else []


def text(value: Json | Missing, default: str = "") -> str:
    return value if isinstance(value, str) else default


def integer(value: Json | Missing, default: int = 0) -> int:
    """A whole number; a bool is not one, though Python thinks so."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else default


def dig(value: Json | Missing, *path: str | int) -> Json | Missing:
    """The value at a path of keys and indexes, or `MISSING`."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def json_kind(value: object) -> str:
    """What Go's encoding/json calls a value in its errors: "cannot unmarshal number into …"."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def copy(value: Json) -> Json:
    """A deep copy; several times faster than `copy.deepcopy`, as JSON has no cycles."""
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy(item) for item in value]
    return value


def copy_object(value: Object) -> Object:
    return {key: copy(item) for key, item in value.items()}


def same(one: Json | Missing, other: Json | Missing) -> bool:
    """Equal as JSON: 1 and 1.0 are one number, `true` is none, though Python thinks so."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, (dict, list)):
        # Nearly always both are written alike, and a compiled encoder tells that fastest.
        try:
            if msgspec.json.encode(one) == msgspec.json.encode(other):
                return True
        except (ValueError, OverflowError, RecursionError):
            pass
        return _same_inside(one, other)
    return isinstance(one, bool) == isinstance(other, bool)


def _same_inside(one: Json | Missing, other: Json | Missing) -> bool:
    """Of two trees that Python finds equal: have they true and 1 in the same places?"""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same_inside(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return all(map(_same_inside, one, other))
    return isinstance(one, bool) == isinstance(other, bool)

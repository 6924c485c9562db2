"""Untyped JSON trees, such as manifests, and functions to read them.

`fields`, `items`, `text` and `integer` return an empty value for a value that is absent or has another type.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import msgspec

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Object: TypeAlias = dict[str, Json]


class Missing:
    """The value of a path that does not exist; `None` is a JSON `null`."""

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
    """A whole number; unlike in Python, a bool is not a number."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else default


def dig(value: Json | Missing, *path: str | int) -> Json | Missing:
    """The value at a path of keys and indexes, or `MISSING`."""
    steps: tuple[Any, ...] = path
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, MISSING)  # only texts are keys, so a number is missing
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def json_kind(value: object) -> str:
    """The type name in errors of Go's encoding/json: "cannot unmarshal number into …"."""
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


def same(left: Json | Missing, right: Json | Missing) -> bool:
    """Equality in JSON: 1 equals 1.0; unlike in Python, 1 does not equal `true`."""
    if left is right:
        return True
    if left != right:
        return False
    if isinstance(left, (dict, list)):
        # Nearly always the encodings are equal, and the compiled encoder is fast.
        try:
            if msgspec.json.encode(left) == msgspec.json.encode(right):
                return True
        except (ValueError, OverflowError, RecursionError):
            pass
        return _same_inside(left, right)
    return isinstance(left, bool) == isinstance(right, bool)


def _same_inside(left: Json | Missing, right: Json | Missing) -> bool:
    """Whether two trees that are equal in Python have bools in the same places."""
    if isinstance(left, dict) and isinstance(right, dict):
        return all(_same_inside(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return all(map(_same_inside, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


@contextmanager
def garbage_collection_paused() -> Generator[None]:
    """Pauses Python's cyclic garbage collector: trees have no cycles, and scanning them takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

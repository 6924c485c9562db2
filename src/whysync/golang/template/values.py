"""Values of templates: decoded JSON, and the Go types that differ from it.

JSON numbers are `float64` in Go, here `float`. An `int` is Go's `int`, such as a number in a template.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from whysync.golang.template.errors import NotEvaluated
from whysync.json_tree import Json, Object

_FIRST_EXPONENT: Final = 6

Value: TypeAlias = "Json | NoValue"
"""With `Int64` and `StringMap` where Go has these types."""


class Int64(int):
    """Go's `int64`, which is not accepted as an `int`."""


class StringMap(dict[str, Json]):
    """Go's `map[string]string`, which is not accepted as a `map[string]any`."""


class AnyOrder(list[Json]):
    """The keys or values of a map, sorted here; Go returns them in random order."""


def in_order(value: Value) -> Value:
    """The value, unless its order is random in Go. Raises `NotEvaluated`."""
    if isinstance(value, AnyOrder) and len(value) > 1:
        raise NotEvaluated("its template uses the keys or values of a map, whose order is random")
    return value


class NoValue:
    """An invalid `reflect.Value`, such as a missing key."""

    def __repr__(self) -> str:
        return "NO_VALUE"


NO_VALUE: Final = NoValue()


def from_json(value: Json) -> Json:
    """The value as `encoding/json` decodes it: all numbers are `float64`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        decoded: Object = {key: from_json(below) for key, below in value.items()}
        return StringMap(decoded) if isinstance(value, StringMap) else decoded
    if isinstance(value, list):
        return [from_json(below) for below in value]
    return float(value)


def is_true(value: Value) -> bool:
    """Mirrors `IsTrue`: zero values and empty collections are false."""
    return value is not NO_VALUE and bool(value)


def type_name(value: Value) -> str:
    """Go's `%T`."""
    match value:
        case None | NoValue():
            return "<nil>"
        case bool():
            return "bool"
        case Int64():
            return "int64"
        case int():
            return "int"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case StringMap():
            return "map[string]string"
        case dict():
            return "map[string]interface {}"


def kind_name(value: Value) -> str:
    """`reflect.Kind`."""
    match value:
        case None | NoValue():
            return "invalid"
        case list():
            return "slice"
        case dict():
            return "map"
        case _:
            return type_name(value)


def float_text(number: float) -> str:
    """Go's `%v` of a `float64`: `1.5`, `100000`, `1e+06`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    mantissa, _, exponent_text = f"{number!r}".lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    exponent = point - 1
    if exponent < -4 or exponent >= _FIRST_EXPONENT:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def text_of(value: Value) -> str:
    """Go's `%v`."""
    match value:
        case NoValue():
            return "<no value>"
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(int(value))
        case float():
            return float_text(value)
        case list():
            in_order(value)
            return "[" + " ".join(map(text_of, value)) + "]"
        case dict():
            ordered: list[tuple[str, Json]] = sorted(value.items())
            return "map[" + " ".join(f"{key}:{text_of(below)}" for key, below in ordered) + "]"

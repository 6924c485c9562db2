"""Operators and functions of CEL, and the errors of their evaluation."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.golang.regexp import regex_match
from whysync.json_tree import Json


class CelError(Exception):
    """The expression has no value: `no such key: x`."""


class UnknownValue(Exception):
    """The expression uses something that is not modeled, or cannot be read."""


def truth(value: Json) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CelError("no such overload")
    return value


def binary_operation(op: str, left: Json, right: Json) -> Json:
    match op:
        case "==":
            return left == right and isinstance(left, bool) == isinstance(right, bool)
        case "!=":
            return left != right or isinstance(left, bool) != isinstance(right, bool)
        case "in":
            if isinstance(right, dict):
                return isinstance(left, str) and left in right
            if isinstance(right, list):
                return left in right
            raise CelError("no such overload")
        case "+":
            if isinstance(left, str) and isinstance(right, str):
                return left + right
            if isinstance(left, list) and isinstance(right, list):
                return left + right
            return number(left) + number(right)
        case "-":
            return number(left) - number(right)
        case "*":
            return number(left) * number(right)
        case "/" | "%":
            divisor = number(right)
            if divisor == 0:
                raise CelError("division by zero" if op == "/" else "modulus by zero")
            return _divided(op, number(left), divisor)
        case _:
            return _compare(op, left, right)


def _divided(op: str, left: float, right: float) -> Json:
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if op == "/" else left - quotient * right
    return left / right


def _compare(op: str, left: Json, right: Json) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        order = (left > right) - (left < right)
    else:
        first, second = number(left), number(right)
        order = (first > second) - (first < second)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]


def _size(value: Json) -> Json:
    if isinstance(value, (str, list, dict)):
        return len(value)
    raise CelError("no such overload")


def _texts(values: list[Json]) -> list[str]:
    strings = [value for value in values if isinstance(value, str)]
    if len(strings) < len(values):
        raise CelError("no such overload")
    return strings


def _matches(value: str, pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise UnknownValue(pattern) from None
    return regex_match(pattern, value)


def _to_int(value: Json) -> Json:
    try:
        return int(value) if isinstance(value, (str, int, float)) else number(value)
    except ValueError:
        raise CelError("type conversion error from 'string' to 'int'") from None


def _duration(value: Json) -> Json:
    """The duration in nanoseconds, which is enough to compare durations."""
    written = value if isinstance(value, str) else ""
    try:
        return parse_nanoseconds(written)
    except BadDuration:
        raise CelError(f'invalid duration "{written}"') from None


def _is_ip(value: Json) -> Json:
    try:
        ipaddress.ip_address(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _substring(arguments: list[Json]) -> Json:
    text, positions = arguments[0], [int(number(argument)) for argument in arguments[1:]]
    if not isinstance(text, str):
        raise CelError("no such overload")
    start, end = positions[0], positions[1] if len(positions) > 1 else len(text)
    if not 0 <= start <= end <= len(text):
        raise CelError(f"index out of range: {start if not 0 <= start <= len(text) else end}")
    return text[start:end]


def _join(arguments: list[Json]) -> Json:
    values = arguments[0] if isinstance(arguments[0], list) else []
    separator = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], str) else ""
    return separator.join(_texts(values))


def _numbers(value: Json) -> list[float]:
    return [number(item) for item in value] if isinstance(value, list) else [number(value)]


def _extreme(value: Json, pick: Callable[[list[float]], float]) -> Json:
    numbers = _numbers(value)
    if not numbers:
        raise CelError("min/max called on empty list")
    return pick(numbers)


def _sorted(value: Json) -> Json:
    if not isinstance(value, list):
        raise CelError("no such overload")
    return all(_compare("<=", item, next_item) for item, next_item in pairwise(value))


def type_name(value: Json) -> str:
    """The value of `type(x)`: a string that no text value can equal."""
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return f"{TYPE_MARK}{name}"
    return f"{TYPE_MARK}null_type"


TYPE_MARK: Final = "\0type "
TYPE_NAMES: Final = frozenset({"bool", "int", "double", "string", "list", "map", "null_type"})
_TYPES: Final = (
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (list, "list"),
    (dict, "map"),
)

Function: TypeAlias = Callable[[list[Json]], Json]
FUNCTIONS: Final[dict[tuple[str, int], Function]] = {
    ("size", 1): lambda args: _size(args[0]),
    ("startsWith", 2): lambda args: _texts(args)[0].startswith(_texts(args)[1]),
    ("endsWith", 2): lambda args: _texts(args)[0].endswith(_texts(args)[1]),
    ("contains", 2): lambda args: _texts(args)[1] in _texts(args)[0],
    ("matches", 2): lambda args: _matches(*_texts(args)),
    ("lowerAscii", 1): lambda args: _texts(args)[0].lower(),
    ("upperAscii", 1): lambda args: _texts(args)[0].upper(),
    ("trim", 1): lambda args: _texts(args)[0].strip(),
    ("split", 2): lambda args: list(_texts(args)[0].split(_texts(args)[1])),
    ("replace", 3): lambda args: _texts(args)[0].replace(_texts(args)[1], _texts(args)[2]),
    ("substring", 2): _substring,
    ("substring", 3): _substring,
    ("indexOf", 2): lambda args: _texts(args)[0].find(_texts(args)[1]),
    ("lastIndexOf", 2): lambda args: _texts(args)[0].rfind(_texts(args)[1]),
    ("join", 1): _join,
    ("join", 2): _join,
    ("min", 1): lambda args: _extreme(args[0], min),
    ("max", 1): lambda args: _extreme(args[0], max),
    ("sum", 1): lambda args: sum(_numbers(args[0])),
    ("isSorted", 1): lambda args: _sorted(args[0]),
    ("duration", 1): lambda args: _duration(args[0]),
    ("isIP", 1): lambda args: _is_ip(args[0]),
    ("type", 1): lambda args: type_name(args[0]),
    ("dyn", 1): lambda args: args[0],
    ("double", 1): lambda args: float(number(args[0])),
    ("int", 1): lambda args: _to_int(args[0]),
    ("string", 1): lambda args: args[0] if isinstance(args[0], str) else str(args[0]),
}
"""By name and number of arguments; the value that a method is called on is its first."""

"""Values of CEL: operators and functions, and when they have no value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from whysync.contracts.tree import Json
from whysync.semantics.regexes import regex_match


class CelError(Exception):
    """The expression has no value: `no such key: x`."""


class NotKnown(Exception):
    """The expression uses something that is not modelled, or cannot be read."""


def truth(value: Json) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CelError("no such overload")
    return value


def reckoned(op: str, left: Json, right: Json) -> Json:
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
            return _ordered(op, left, right)


def _divided(op: str, left: float, right: float) -> Json:
    if isinstance(left, int) and isinstance(right, int):
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return whole if op == "/" else left - whole * right
    return left / right


def _ordered(op: str, left: Json, right: Json) -> bool:
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
    found = [value for value in values if isinstance(value, str)]
    if len(found) < len(values):
        raise CelError("no such overload")
    return found


def _matches(value: str, pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise NotKnown(pattern) from None
    return regex_match(pattern, value)


def _whole(value: Json) -> Json:
    try:
        return int(value) if isinstance(value, (str, int, float)) else number(value)
    except ValueError:
        raise CelError("type conversion error from 'string' to 'int'") from None


Function: TypeAlias = Callable[[list[Json]], Json]
FUNCTIONS: Final[dict[tuple[str, int], Function]] = {
    ("size", 1): lambda given: _size(given[0]),
    ("startsWith", 2): lambda given: _texts(given)[0].startswith(_texts(given)[1]),
    ("endsWith", 2): lambda given: _texts(given)[0].endswith(_texts(given)[1]),
    ("contains", 2): lambda given: _texts(given)[1] in _texts(given)[0],
    ("matches", 2): lambda given: _matches(*_texts(given)),
    ("lowerAscii", 1): lambda given: _texts(given)[0].lower(),
    ("upperAscii", 1): lambda given: _texts(given)[0].upper(),
    ("trim", 1): lambda given: _texts(given)[0].strip(),
    ("split", 2): lambda given: list(_texts(given)[0].split(_texts(given)[1])),
    ("replace", 3): lambda given: _texts(given)[0].replace(_texts(given)[1], _texts(given)[2]),
    ("int", 1): lambda given: _whole(given[0]),
    ("string", 1): lambda given: given[0] if isinstance(given[0], str) else str(given[0]),
}
"""By name and number of arguments; the value that a method is called on is its first."""

"""Values of CEL: operators and functions, and when they have no value."""

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


def _whole(value: Json) -> Json:
    try:
        return int(value) if isinstance(value, (str, int, float)) else number(value)
    except ValueError:
        raise CelError("type conversion error from 'string' to 'int'") from None


def _duration(value: Json) -> Json:
    """In nanoseconds: enough to compare two of them."""
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


def _part(given: list[Json]) -> Json:
    word, places = given[0], [int(number(place)) for place in given[1:]]
    if not isinstance(word, str):
        raise CelError("no such overload")
    start, end = places[0], places[1] if len(places) > 1 else len(word)
    if not 0 <= start <= end <= len(word):
        raise CelError(f"index out of range: {start if not 0 <= start <= len(word) else end}")
    return word[start:end]


def _joined(given: list[Json]) -> Json:
    values = given[0] if isinstance(given[0], list) else []
    between = given[1] if len(given) > 1 and isinstance(given[1], str) else ""
    return between.join(_texts(values))


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
    return all(_ordered("<=", item, other) for item, other in pairwise(value))


def type_name(value: Json) -> str:
    """What `type(x)` gives: a name that no text has."""
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
    ("substring", 2): _part,
    ("substring", 3): _part,
    ("indexOf", 2): lambda given: _texts(given)[0].find(_texts(given)[1]),
    ("lastIndexOf", 2): lambda given: _texts(given)[0].rfind(_texts(given)[1]),
    ("join", 1): _joined,
    ("join", 2): _joined,
    ("min", 1): lambda given: _extreme(given[0], min),
    ("max", 1): lambda given: _extreme(given[0], max),
    ("sum", 1): lambda given: sum(_numbers(given[0])),
    ("isSorted", 1): lambda given: _sorted(given[0]),
    ("duration", 1): lambda given: _duration(given[0]),
    ("isIP", 1): lambda given: _is_ip(given[0]),
    ("type", 1): lambda given: type_name(given[0]),
    ("dyn", 1): lambda given: given[0],
    ("double", 1): lambda given: float(number(given[0])),
    ("int", 1): lambda given: _whole(given[0]),
    ("string", 1): lambda given: given[0] if isinstance(given[0], str) else str(given[0]),
}
"""By name and number of arguments; the value that a method is called on is its first."""

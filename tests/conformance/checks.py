"""The checks on an object that vectors state as data, and the comparisons that all vector files share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from whysync.json_tree import MISSING, Json, Missing, fields, items, text
from whysync.kubernetes.api import pointer as pointers


def failed_checks(obj: Json | Missing, checks: Json | Missing) -> list[str]:
    """What is not as the list of `{"path", "op", "value"}` claims; empty when all of it holds."""
    failures: list[str] = []
    for check in items(checks):
        claim = fields(check)
        path, op, value = text(claim.get("path")), text(claim.get("op")), claim.get("value")
        result = pointers.resolve(obj, path)
        holds = _OPS.get(op)
        if holds is None:
            failures.append(f"{path}: unknown check {op!r}")
        elif not holds(result, value):
            failures.append(f"{path}: expected {op} {_short(value)}, got {_short(result)}")
    return failures


def mismatch(subject: str, expected: Json | Missing, got: Json | Missing) -> list[str]:
    """No line if both are equal (numbers by value) or nothing is expected, else one line that shows them."""
    return (
        []
        if isinstance(expected, Missing) or equal(expected, got)
        else [f"{subject}: expected {_short(expected)}, got {_short(got)}"]
    )


def lacks_fragments(subject: str, fragments: Json | Missing, got: str | None) -> list[str]:
    """For `error_contains` and `message_contains`: a fragment, or a list of which all must occur."""
    expected = items(fragments) if isinstance(fragments, list) else [fragments]
    return [
        f"{subject}: expected to contain {_short(fragment)}, got {_short(got)}"
        for fragment in expected
        if got is None or not isinstance(fragment, str) or fragment not in got
    ]


def same_items(expected: Iterable[Json], got: Iterable[Json]) -> bool:
    """Equal as multisets: the order is free, the number of each is not."""
    return sorted(map(canonical, expected)) == sorted(map(canonical, got))


def multiset_mismatch(subject: str, expected: Json | Missing, got: Iterable[Json]) -> list[str]:
    """For lists named `…_any_order`, and `phases`, `types`, `conditions`."""
    result = list(got)
    if same_items(items(expected), result):
        return []
    return [f"{subject}: expected in any order {_short(expected)}, got {_short(result)}"]


def equal(left: Json | Missing, right: Json | Missing) -> bool:
    """Equal as JSON: 1 and 1.0 are the same number, true is not a number."""
    if isinstance(left, Missing) or isinstance(right, Missing):
        return left is right
    return canonical(left) == canonical(right)


def contains(document: Json | Missing, subset: Json | Missing) -> bool:
    """Has `whole` every field that `part` names, with an equal value? Lists must match item by item."""
    if isinstance(subset, dict):
        return isinstance(document, dict) and all(
            contains(document.get(key, MISSING), value) for key, value in subset.items()
        )
    if isinstance(subset, list):
        return (
            isinstance(document, list)
            and len(document) == len(subset)
            and all(map(contains, document, subset))
        )
    return equal(document, subset)


def canonical(value: Json) -> str:
    """One text for all ways to write the same JSON value."""
    return json.dumps(_plain_numbers(value), sort_keys=True, ensure_ascii=False)


def _plain_numbers(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _empty(result: Json | Missing) -> bool:
    return result is MISSING or result is None or result in ("", [], {})


def _length(result: Json | Missing, value: Json) -> bool:
    return isinstance(result, (list, dict)) and len(result) == value


def _has_item(result: Json | Missing, value: Json) -> bool:
    return any(
        isinstance(item, dict) and all(equal(item.get(k, MISSING), v) for k, v in fields(value).items())
        for item in items(result)
    )


def _quantity_equals(result: Json | Missing, value: Json) -> bool:
    left, right = _quantity(result), _quantity(value)
    return left is not None and left == right


_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?\d{1,3}))")
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def _quantity(value: Json | Missing) -> tuple[Fraction, str] | None:
    """The number and the family of its suffix, which together fix the text Kubernetes writes for it."""
    if value is MISSING or value is None:
        value = "0"
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, binary, decimal, exponent = Fraction(match[1]), match[2], match[3], match[4]
    if binary:
        number *= Fraction(1024) ** ("KMGTPE".index(binary[0]) + 1)
        return number, "binary" if abs(number) >= 1024 else "decimal"
    if exponent is not None:
        return number * Fraction(10) ** int(exponent), "exponent"
    return number * Fraction(1000) ** _DECIMAL[decimal or ""], "decimal"


def _text(result: Json | Missing) -> str:
    return "" if isinstance(result, Missing) else json.dumps(result, ensure_ascii=False)


def _short(value: Json | Missing, most: int = 600) -> str:
    shown = repr(value) if isinstance(value, Missing) else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= most else f"{shown[:most]}… ({len(shown)} characters)"


_OPS: dict[str, Callable[[Json | Missing, Json], bool]] = {
    "equals": equal,
    "present": lambda found, _: found is not MISSING,
    "absent": lambda found, _: found is MISSING,
    "empty": lambda found, _: _empty(found),
    "not_empty": lambda found, _: not _empty(found),
    "falsy": lambda found, _: found is MISSING or found is None or found is False,
    "length": _length,
    "has_item": _has_item,
    "quantity_equals": _quantity_equals,
    "text_contains": lambda found, value: isinstance(value, str) and value in _text(found),
    "text_not_contains": lambda found, value: isinstance(value, str) and value not in _text(found),
}

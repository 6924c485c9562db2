"""Is it the same value, written differently? Then nothing really differs."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, Missing, fields, items, text
from whysync.kubernetes.api import pointer as pointers


class Equivalence(StrEnum):
    """In what two spellings of one value differ."""

    QUANTITY = "a quantity in another notation"
    NUMBER = "a number written as text"
    DURATION = "a duration in another notation"
    EMPTY = "an empty value that the API server does not keep"
    ZERO = "the zero value, which the API server does not keep"
    ORDER = "the same elements in another order"
    SPACE = "white space only"


_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+")
_QUANTITY = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?")


def equivalence_of(wanted: Json | Missing, found: Json | Missing) -> Equivalence | None:
    """How the two spell one value; `None` where the values differ."""
    if isinstance(found, Missing):
        return _kept_by_nobody(wanted)
    if isinstance(wanted, Missing):
        return Equivalence.EMPTY if found in (None, "", [], {}) else None
    if wanted in (None, "", [], {}) and found in (None, "", [], {}):
        return Equivalence.EMPTY
    if isinstance(wanted, list) and isinstance(found, list):
        return Equivalence.ORDER if _same_elements(wanted, found) else None
    if isinstance(wanted, str) and isinstance(found, str):
        return _same_text(wanted, found)
    if isinstance(wanted, str | int | float) and isinstance(found, str | int | float):
        if isinstance(wanted, bool) or isinstance(found, bool):
            return Equivalence.NUMBER if str(wanted).lower() == str(found).lower() else None
        if str(wanted) == str(found):
            return Equivalence.NUMBER
        return Equivalence.QUANTITY if _same_quantity(str(wanted), str(found)) else None
    return None


def reordered_list_of(desired: Json, live: Json, pointer: str) -> str | None:
    """The list around a field that holds the same elements on both sides, in another order."""
    parts = pointers.split(pointer)
    for end in range(len(parts), -1, -1):
        around = pointers.join(parts[:end])
        wanted, found = pointers.resolve(desired, around), pointers.resolve(live, around)
        if isinstance(wanted, list) and isinstance(found, list) and wanted != found:
            return around if _same_elements(wanted, found) else None
    return None


def list_with_duplicate_keys(desired: Json, live: Json, pointer: str) -> str | None:
    """The list around a field in which Git gives one name twice and the cluster keeps it once.

    Client-side apply merges such a list by its names: of two elements with one name, one is left.
    """
    parts = pointers.split(pointer)
    for end in range(len(parts), -1, -1):
        around = pointers.join(parts[:end])
        mine, theirs = (_names(pointers.resolve(side, around)) for side in (desired, live))
        if mine and theirs and len(set(mine)) < len(mine):
            return around if sorted(set(mine)) == sorted(theirs) else None
    return None


def duplicate_keys(elements: Json | Missing) -> tuple[str, ...]:
    """The names that more than one element of the list has."""
    names = _names(elements)
    return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))


def _names(elements: Json | Missing) -> list[str]:
    """The name of each element; nothing where one has none."""
    names = [text(fields(element).get("name")) for element in items(elements)]
    return names if all(names) else []


def _kept_by_nobody(wanted: Json | Missing) -> Equivalence | None:
    if wanted is None or wanted == [] or wanted == {} or wanted == "":
        return Equivalence.EMPTY
    if wanted is False or (wanted == 0 and not isinstance(wanted, bool)):
        return Equivalence.ZERO
    if isinstance(wanted, dict) and all(_kept_by_nobody(value) for value in wanted.values()):
        return Equivalence.EMPTY
    return None


def _same_text(wanted: str, found: str) -> Equivalence | None:
    if wanted.split() == found.split():
        return Equivalence.SPACE
    if _DURATION.fullmatch(wanted) and _DURATION.fullmatch(found):
        return Equivalence.DURATION if _same_duration(wanted, found) else None
    return Equivalence.QUANTITY if _same_quantity(wanted, found) else None


def _same_duration(wanted: str, found: str) -> bool:
    try:
        return parse_nanoseconds(wanted) == parse_nanoseconds(found)
    except BadDuration:
        return False


def _same_quantity(wanted: str, found: str) -> bool:
    if not (_QUANTITY.fullmatch(wanted) and _QUANTITY.fullmatch(found)):
        return False
    try:
        return canonical_quantity(wanted) == canonical_quantity(found)
    except BadQuantity:
        return False


def _same_elements(wanted: list[Json], found: list[Json]) -> bool:
    rest = list(found)
    for item in wanted:
        if item not in rest:
            return False
        rest.remove(item)
    return not rest and len(wanted) > 1

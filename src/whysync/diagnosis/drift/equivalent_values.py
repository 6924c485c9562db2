"""Equivalent values: equal in meaning, but written differently."""

from __future__ import annotations

import ipaddress
import json
import re
from datetime import datetime
from enum import StrEnum

from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, Missing, fields, items, text
from whysync.kubernetes.api import pointer as pointers


class Equivalence(StrEnum):
    """How two equivalent values differ."""

    QUANTITY = "a quantity in another notation"
    NUMBER = "a number written as text"
    DURATION = "a duration in another notation"
    EMPTY = "an empty value that the API server does not keep"
    ZERO = "the zero value, which the API server does not keep"
    ORDER = "the same elements in another order"
    SPACE = "white space only"
    JSON = "the same JSON in another notation"
    TIME = "the same time in another notation"
    ADDRESS = "the same address in another notation"
    CASE = "the same word in upper and lower case"


_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w))+")
# Prometheus and others count in days and weeks too.
_LONG_UNITS = re.compile(r"(\d+)([dw])")
_HOURS = {"d": 24, "w": 7 * 24}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_WORD = re.compile(r"[A-Za-z][\w.-]{1,252}")
_QUANTITY = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?")


def equivalence_of(desired: Json | Missing, live: Json | Missing) -> Equivalence | None:
    """How the values are equivalent; `None` if they are not."""
    if isinstance(live, Missing):
        return _dropped_by_server(desired)
    if isinstance(desired, Missing):
        return Equivalence.EMPTY if live in (None, "", [], {}) else None
    if desired in (None, "", [], {}) and live in (None, "", [], {}):
        return Equivalence.EMPTY
    if isinstance(desired, list) and isinstance(live, list):
        return Equivalence.ORDER if _same_elements(desired, live) else None
    if isinstance(desired, str) and isinstance(live, str):
        return _same_text(desired, live)
    if isinstance(desired, str | int | float) and isinstance(live, str | int | float):
        if isinstance(desired, bool) or isinstance(live, bool):
            return Equivalence.NUMBER if str(desired).lower() == str(live).lower() else None
        if str(desired) == str(live):
            return Equivalence.NUMBER
        return Equivalence.QUANTITY if _same_quantity(str(desired), str(live)) else None
    return None


def reordered_list_of(desired: Json, live: Json, pointer: str) -> str | None:
    """The list that contains the field, if both sides have its elements in another order."""
    for list_pointer, desired_list, live_list in _enclosing_lists(desired, live, pointer):
        # A list inside a reordered one differs too, because its elements are compared by their position.
        if desired_list != live_list and _same_elements(desired_list, live_list):
            return list_pointer
    return None


def list_with_duplicate_keys(desired: Json, live: Json, pointer: str) -> str | None:
    """The list that contains the field, if Git repeats a name in it and the cluster has it once.

    Client-side apply merges such a list by name and keeps one of two elements with the same name.
    """
    for list_pointer, desired_list, live_list in _enclosing_lists(desired, live, pointer):
        key = merge_key(list_pointer)
        desired_names, live_names = _names(desired_list, key), _names(live_list, key)
        if desired_names and live_names and len(set(desired_names)) < len(desired_names):
            return list_pointer if sorted(set(desired_names)) == sorted(live_names) else None
    return None


def _enclosing_lists(desired: Json, live: Json, pointer: str) -> list[tuple[str, list[Json], list[Json]]]:
    """The lists of both sides that contain the field, or are the field; the innermost one first."""
    found: list[tuple[str, list[Json], list[Json]]] = []
    sides: tuple[Json | Missing, Json | Missing] = desired, live
    parts = pointers.split(pointer)
    for end in range(len(parts) + 1):
        desired_value, live_value = sides
        if isinstance(desired_value, list) and isinstance(live_value, list):
            found.append((pointers.join(parts[:end]), desired_value, live_value))
        if end < len(parts):
            sides = pointers.enter(desired_value, parts[end]), pointers.enter(live_value, parts[end])
    return found[::-1]


def duplicate_keys(elements: Json | Missing, key: str) -> tuple[str, ...]:
    """The names, or other values of that key, that are repeated in the list."""
    names = _names(elements, key)
    return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))


_MERGE_KEYS = {
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""The key by which client-side apply merges a list, where it is not the name."""


def merge_key(list_pointer: str) -> str:
    return _MERGE_KEYS.get(list_pointer.rpartition("/")[2], "name")


def _names(elements: Json | Missing, key: str) -> list[str]:
    """The names of the elements; empty if one has none."""
    names = [text(fields(element).get(key)) for element in items(elements)]
    return names if all(names) else []


def _dropped_by_server(desired: Json | Missing) -> Equivalence | None:
    if desired is None or desired == [] or desired == {} or desired == "":
        return Equivalence.EMPTY
    if desired is False or (desired == 0 and not isinstance(desired, bool)):
        return Equivalence.ZERO
    if isinstance(desired, dict) and all(_dropped_by_server(value) for value in desired.values()):
        return Equivalence.EMPTY
    return None


def _same_text(desired: str, live: str) -> Equivalence | None:
    if desired.split() == live.split():
        return Equivalence.SPACE
    if _DURATION.fullmatch(desired) and _DURATION.fullmatch(live):
        return Equivalence.DURATION if _same_duration(desired, live) else None
    if _same_json(desired, live):
        return Equivalence.JSON
    if _same_quantity(desired, live):
        return Equivalence.QUANTITY
    if _same_time(desired, live):
        return Equivalence.TIME
    if _same_address(desired, live):
        return Equivalence.ADDRESS
    # Hosts, and the words of an enumeration, which controllers write in their own case.
    return Equivalence.CASE if _WORD.fullmatch(desired) and desired.lower() == live.lower() else None


def _same_time(desired: str, live: str) -> bool:
    if not (_TIME.match(desired) and _TIME.match(live)):
        return False
    try:
        return datetime.fromisoformat(desired) == datetime.fromisoformat(live)
    except (ValueError, TypeError):  # no time, or one with a zone and one without
        return False


def _same_address(desired: str, live: str) -> bool:
    """An IP address, a network (with or without host bits), or a URL with or without the last slash."""
    if "://" in desired:
        return desired.rstrip("/") == live.rstrip("/")
    try:
        return ipaddress.ip_network(desired, strict=False) == ipaddress.ip_network(live, strict=False)
    except ValueError:
        return False


def _same_json(desired: str, live: str) -> bool:
    """Objects and lists only: two numbers in one text are quantities."""
    if not (desired.lstrip().startswith(("{", "[")) and live.lstrip().startswith(("{", "["))):
        return False
    try:
        return bool(json.loads(desired) == json.loads(live))
    except ValueError:
        return False


def _same_duration(desired: str, live: str) -> bool:
    try:
        return _nanoseconds(desired) == _nanoseconds(live)
    except BadDuration:
        return False


def _nanoseconds(duration: str) -> int:
    return parse_nanoseconds(_LONG_UNITS.sub(lambda m: f"{int(m[1]) * _HOURS[m[2]]}h", duration))


def _same_quantity(desired: str, live: str) -> bool:
    if not (_QUANTITY.fullmatch(desired) and _QUANTITY.fullmatch(live)):
        return False
    try:
        return canonical_quantity(desired) == canonical_quantity(live)
    except BadQuantity:
        return False


def _same_elements(desired: list[Json], live: list[Json]) -> bool:
    rest = list(live)
    for item in desired:
        if item not in rest:
            return False
        rest.remove(item)
    return not rest and len(desired) > 1

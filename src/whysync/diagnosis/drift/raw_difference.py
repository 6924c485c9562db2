"""The raw difference of two trees, field by field: without defaults, ignore rules and normalization.

`drift` uses it for resources that Argo CD calls OutOfSync although the comparison shows no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api import pointer as pointers

# What identifies an element of a list, the most telling first.
LIST_KEYS = (
    "name",
    "mountPath",
    "containerPort",
    "port",
    "key",
    "secretKey",
    "type",
    "ip",
    "topologyKey",
    "uid",
)


class Difference(NamedTuple):
    """`pointer` leads into the live object if it has the field, else into the desired one."""

    pointer: str
    desired_value: Json | Missing
    live_value: Json | Missing


def differences(desired: Json, live: Json, pointer: str = "") -> Iterator[Difference]:
    """All differing fields. Iterative: a hostile tree may be deeper than Python's stack."""
    stack: list[tuple[Json, Json, str]] = [(desired, live, pointer)]
    while stack:
        wanted, found, at = stack.pop()
        if isinstance(wanted, dict) and isinstance(found, dict):
            pairs = list(_of_maps(wanted, found, at))
        elif isinstance(wanted, list) and isinstance(found, list) and wanted and found:
            pairs = list(_of_lists(wanted, found, at))
        else:
            if not same(wanted, found):
                yield Difference(at, wanted, found)
            continue
        for one, other, below in reversed(pairs):
            if isinstance(one, Missing) or isinstance(other, Missing):
                yield Difference(below, one, other)
            else:
                stack.append((one, other, below))


_Pair: TypeAlias = "tuple[Json | Missing, Json | Missing, str]"


def _of_maps(wanted: Object, found: Object, at: str) -> Iterator[_Pair]:
    for key in sorted(wanted.keys() | found.keys()):
        yield wanted.get(key, MISSING), found.get(key, MISSING), pointers.child(at, key)


def _of_lists(wanted: list[Json], found: list[Json], at: str) -> Iterator[_Pair]:
    key = _common_key(wanted, found)
    if key is None:
        for index in range(max(len(wanted), len(found))):
            yield _nth(wanted, index), _nth(found, index), pointers.child(at, index)
        return
    theirs = {_key_value(item, key): index for index, item in enumerate(found)}
    for index, item in enumerate(wanted):
        place = theirs.pop(_key_value(item, key), None)
        if place is None:
            yield item, MISSING, pointers.child(at, index)
        else:
            yield item, found[place], pointers.child(at, place)
    for place in theirs.values():
        yield MISSING, found[place], pointers.child(at, place)


def _common_key(wanted: list[Json], found: list[Json]) -> str | None:
    """A field that every element of both lists has, with no value twice in one of them."""
    for key in LIST_KEYS:
        values = [[_key_value(item, key) for item in side] for side in (wanted, found)]
        if all(None not in side and len(set(side)) == len(side) for side in values) and any(values):
            return key
    return None


def _key_value(item: Json, key: str) -> str | int | None:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, str | int) else None


def _nth(side: list[Json], index: int) -> Json | Missing:
    return side[index] if index < len(side) else MISSING


def same(one: Json, other: Json) -> bool:
    """Equal as JSON scalars, or both empty: Python calls `1` and `True` equal, an API server does not."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)

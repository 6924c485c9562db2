"""The raw difference of two trees, field by field: without defaults, ignore rules and normalization.

`drifts` uses it for resources that Argo CD reports as OutOfSync although the comparison shows no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from whysync.json_tree import MISSING, Json, Missing, Object
from whysync.kubernetes.api import pointer as pointers

# Fields that identify a list element, in order of preference.
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
    """`pointer` is a pointer into the live object if it has the field, else into the desired one."""

    pointer: str
    desired_value: Json | Missing
    live_value: Json | Missing


def differences(desired: Json, live: Json, pointer: str = "") -> Iterator[Difference]:
    """All differing fields. Iterative, because a hostile tree may be deeper than Python's stack."""
    stack: list[tuple[Json, Json, str]] = [(desired, live, pointer)]
    while stack:
        desired_value, live_value, at = stack.pop()
        if isinstance(desired_value, dict) and isinstance(live_value, dict):
            pairs = list(_of_maps(desired_value, live_value, at))
        elif (
            isinstance(desired_value, list) and isinstance(live_value, list) and desired_value and live_value
        ):
            pairs = list(_of_lists(desired_value, live_value, at))
        else:
            if not same(desired_value, live_value):
                yield Difference(at, desired_value, live_value)
            continue
        for desired_child, live_child, child_pointer in reversed(pairs):
            if isinstance(desired_child, Missing) or isinstance(live_child, Missing):
                yield Difference(child_pointer, desired_child, live_child)
            elif not _is_copy(desired_child, live_child):
                stack.append((desired_child, live_child, child_pointer))


_Pair: TypeAlias = "tuple[Json | Missing, Json | Missing, str]"


def _is_copy(one: Json, other: Json) -> bool:
    """Are the two certainly the same? Most parts of most objects are, and need not be entered."""
    if one is other:
        return True
    if isinstance(one, str):
        return one == other
    if not isinstance(one, (dict, list)):
        return False
    try:
        # `1` and `True` are equal in Python; their encodings are not.
        return one == other and _encoded(one) == _encoded(other)
    except (ValueError, OverflowError, RecursionError):
        return False


_encoded = msgspec.json.Encoder(order="sorted").encode


def _of_maps(desired: Object, live: Object, at: str) -> Iterator[_Pair]:
    for key in sorted(desired.keys() | live.keys()):
        yield desired.get(key, MISSING), live.get(key, MISSING), pointers.child(at, key)


def _of_lists(desired: list[Json], live: list[Json], at: str) -> Iterator[_Pair]:
    key = _common_key(desired, live)
    if key is None:
        for index in range(max(len(desired), len(live))):
            yield _nth(desired, index), _nth(live, index), pointers.child(at, index)
        return
    live_index = {_key_value(item, key): index for index, item in enumerate(live)}
    for index, item in enumerate(desired):
        index_in_live = live_index.pop(_key_value(item, key), None)
        if index_in_live is None:
            yield item, MISSING, pointers.child(at, index)
        else:
            yield item, live[index_in_live], pointers.child(at, index_in_live)
    for index_in_live in live_index.values():
        yield MISSING, live[index_in_live], pointers.child(at, index_in_live)


def _common_key(desired: list[Json], live: list[Json]) -> str | None:
    """A field that every element of both lists has, with unique values in each list."""
    for key in LIST_KEYS:
        values = [[_key_value(item, key) for item in side] for side in (desired, live)]
        if all(None not in side and len(set(side)) == len(side) for side in values) and any(values):
            return key
    return None


def _key_value(item: Json, key: str) -> str | int | None:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, str | int) else None


def _nth(side: list[Json], index: int) -> Json | Missing:
    return side[index] if index < len(side) else MISSING


def same(one: Json, other: Json) -> bool:
    """Equal as JSON values: `1` and `True` are equal in Python, but not in JSON."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)

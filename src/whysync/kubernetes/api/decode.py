"""Decodes API values: fast if they are well formed, lenient if they are not.

Go writes `null` for an empty list, people edit status by hand, versions differ. A value of the
wrong type is dropped and reported, the rest is kept.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from whysync.json_tree import Json, Object, copy_object


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


T = TypeVar("T")

_WHERE = re.compile(r" - at `\$?(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")
_MOST_REPAIRS = 50


def decode(body: Object, into: type[T]) -> tuple[T | None, tuple[str, ...]]:
    """The typed value and the problems of dropped values; `None` if nothing remains."""
    try:
        return msgspec.convert(body, into), ()
    except msgspec.ValidationError:
        pass
    tree = _without_nulls(copy_object(body))
    assert isinstance(tree, dict)
    dropped: list[str] = []
    while True:
        try:
            return msgspec.convert(tree, into), tuple(dropped)
        except msgspec.ValidationError as problem:
            path = _path(str(problem))
            if len(dropped) >= _MOST_REPAIRS:  # all rows go instead of each bad one, then all of the status
                path = path[: 2 if len(dropped) < 2 * _MOST_REPAIRS else 1]
            if not path or not _drop(tree, path):
                return None, (*dropped, str(problem))
            dropped.append(str(problem))


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _path(problem: str) -> list[str]:
    location = _WHERE.search(problem)
    return [token["key"] or token["index"] for token in _STEP.finditer(location["path"])] if location else []


def _drop(tree: Json, path: list[str]) -> bool:
    """Removes an invalid value. msgspec reports `[...]` for any value of a map, which is then cleared."""
    parent, last = tree, path[-1]
    for token in path[:-1]:
        if isinstance(parent, dict) and token in parent:
            parent = parent[token]
        elif isinstance(parent, list) and token.isdecimal() and int(token) < len(parent):
            parent = parent[int(token)]
        else:
            return False
    if last == "..." and isinstance(parent, (dict, list)) and parent:
        parent.clear()
        return True
    if isinstance(parent, dict) and last in parent:
        del parent[last]
        return True
    if isinstance(parent, list) and last.isdecimal() and int(last) < len(parent):
        del parent[int(last)]
        return True
    return False

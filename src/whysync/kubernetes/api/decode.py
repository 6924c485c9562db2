"""Decodes API values: fast if they are well formed, lenient if they are not.

Go writes `null` for an empty list, people edit status by hand, versions differ. A part that does not
fit its type is left out and named, the rest is kept: an absent part is absent, never invented.
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
    """The typed value and the parts that had to be left out; `None` when nothing is left of it."""
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
    where = _WHERE.search(problem)
    return [step["key"] or step["index"] for step in _STEP.finditer(where["path"])] if where else []


def _drop(tree: Json, path: list[str]) -> bool:
    """Removes invalid values. msgspec writes `[...]` for any value of a map: then the whole map goes."""
    parent, last = tree, path[-1]
    for step in path[:-1]:
        if isinstance(parent, dict) and step in parent:
            parent = parent[step]
        elif isinstance(parent, list) and step.isdecimal() and int(step) < len(parent):
            parent = parent[int(step)]
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

"""`jsonPointers`: one RFC 6902 `remove` each, as evanphx/json-patch does it.

A pointer to a missing field is silently skipped. List items are addressed by number, which may be negative.
"""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.argocd.scripts.jq import Path, removed
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import pointer as pointers

_INDEX = r"[+-]?[0-9]{1,9}"


class PointerOutcome(StrEnum):
    REMOVED = "removed"
    MISSING = "missing"
    """The field does not exist; the pointer is silently skipped."""
    BAD_INDEX = "bad-index"
    """A token is not a valid index of a list."""


def without_pointer(obj: Object, pointer: str) -> tuple[Object, PointerOutcome]:
    path = path_of(obj, pointer)
    if isinstance(path, PointerOutcome):
        return obj, path
    remaining = removed(obj, path)
    assert isinstance(remaining, dict)
    return remaining, PointerOutcome.REMOVED


def path_of(obj: Object, pointer: str) -> Path | PointerOutcome:
    """The path of a pointer in an object; a pointer needs a slash, so `""` is not the whole object."""
    if "/" not in pointer:
        return PointerOutcome.MISSING
    path: list[str | int] = []
    current: Json = obj
    for token in pointer.split("/")[1:]:  # text before the first slash is ignored
        token = pointers.unescape(token)
        if isinstance(current, dict):
            if token not in current:
                return PointerOutcome.MISSING
            path.append(token)
            current = current[token]
        elif isinstance(current, list):
            index = int(token) if re.fullmatch(_INDEX, token) else None
            if index is None or not -len(current) <= index < len(current):
                return PointerOutcome.BAD_INDEX
            path.append(index)
            current = current[index]
        else:
            return PointerOutcome.MISSING
    return tuple(path)

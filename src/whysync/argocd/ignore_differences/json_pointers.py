"""`jsonPointers`: one RFC 6902 `remove` each, as evanphx/json-patch does it.

What leads nowhere is skipped without a word. A list is entered by number only; a number may be negative.
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
    """Nothing is there: silently skipped."""
    BAD_INDEX = "bad-index"
    """A list was entered with something that is no position in it."""


def without_pointer(obj: Object, pointer: str) -> tuple[Object, PointerOutcome]:
    path = path_of(obj, pointer)
    if isinstance(path, PointerOutcome):
        return obj, path
    left = removed(obj, path)
    assert isinstance(left, dict)
    return left, PointerOutcome.REMOVED


def path_of(obj: Object, pointer: str) -> Path | PointerOutcome:
    """Where a pointer leads in an object; every one needs a slash, so `""` is not the whole object."""
    if "/" not in pointer:
        return PointerOutcome.MISSING
    path: list[str | int] = []
    here: Json = obj
    for part in pointer.split("/")[1:]:  # what stands before the first slash is not looked at
        part = pointers.unescape(part)
        if isinstance(here, dict):
            if part not in here:
                return PointerOutcome.MISSING
            path.append(part)
            here = here[part]
        elif isinstance(here, list):
            index = int(part) if re.fullmatch(_INDEX, part) else None
            if index is None or not -len(here) <= index < len(here):
                return PointerOutcome.BAD_INDEX
            path.append(index)
            here = here[index]
        else:
            return PointerOutcome.MISSING
    return tuple(path)

"""Edits as a JSON patch (RFC 6902), which changes single fields where a merge patch replaces whole lists.

This matters for lists with masked values: a merge patch would overwrite the real values with masks.
"""

from __future__ import annotations

from collections.abc import Iterable

from whysync.diagnosis.fix import Add, Edit, Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import Json, Missing, Object, same
from whysync.kubernetes.api.pointer import join, resolve, split


def json_patch(body: Object, edits: Iterable[Edit]) -> list[Json]:
    """The operations in order; an edit that changes nothing gives none."""
    found: list[Json] = []
    for edit in edits:
        after = edited(body, [edit])
        if not same(after, body):
            found.append(_operation(body, after, edit))
        body = after
    return found


def _operation(before: Object, after: Object, edit: Edit) -> Object:
    match edit:
        case Remove(pointer=pointer):
            return {"op": "remove", "path": pointer}
        case Add(pointer=pointer, value=value) if isinstance(resolve(before, pointer), list):
            return {"op": "add", "path": f"{pointer}/-", "value": value}
        case Set(pointer=pointer, value=value) | Add(pointer=pointer, value=value):
            path = _first_new(before, pointer)
            there = not isinstance(resolve(before, path), Missing)
            made = resolve(after, path)
            if isinstance(made, Missing):  # beyond the end of its list: the value was appended
                return {"op": "add", "path": join((*split(path)[:-1], "-")), "value": value}
            return {"op": "replace" if there else "add", "path": path, "value": made}


def _first_new(before: Object, pointer: str) -> str:
    """The field itself, or the first of its parent maps that has to be created."""
    parts = split(pointer)
    for length in range(1, len(parts)):
        if not isinstance(resolve(before, join(parts[:length])), dict | list):
            return join(parts[:length])
    return pointer

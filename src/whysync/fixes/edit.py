"""Apply edits to a copy of a raw object."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.diagnosis.fix import Add, Edit, Remove, Set
from whysync.json_tree import Json, Object, copy, copy_object
from whysync.kubernetes.api.pointer import index_of, split


def edited(body: Object, edits: Iterable[Edit]) -> Object:
    """The object after the edits; an edit of a field that does not exist changes nothing."""
    result = copy_object(body)
    for edit in edits:
        match edit:
            case Set(pointer=pointer, value=value):
                _put(result, split(pointer), copy(value))
            case Add(pointer=pointer, value=value):
                _append(result, split(pointer), copy(value))
            case Remove(pointer=pointer):
                _remove(result, split(pointer))
    return result


def _parent(tree: Object, parts: tuple[str, ...], *, make: bool) -> Json:
    node: Json = tree
    for part in parts[:-1]:
        if isinstance(node, dict):
            if make and not isinstance(node.get(part), dict | list):
                node[part] = {}
            node = node.get(part)
        elif isinstance(node, list) and (at := index_of(part)) is not None and at < len(node):
            node = node[at]
        else:
            return None
    return node


def _put(tree: Object, parts: tuple[str, ...], value: Json) -> None:
    parent, last = _parent(tree, parts, make=True), parts[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and (at := index_of(last)) is not None:
        parent[at : at + 1] = [value]  # beyond the end of the list: appended


def _append(tree: Object, parts: tuple[str, ...], value: Json) -> None:
    parent, last = _parent(tree, parts, make=True), parts[-1]
    if not isinstance(parent, dict):
        return
    existing = parent.get(last)
    values = existing if isinstance(existing, list) else []
    parent[last] = values if value in values else [*values, value]


def _remove(tree: Object, parts: tuple[str, ...]) -> None:
    parent, last = _parent(tree, parts, make=False), parts[-1]
    if isinstance(parent, dict):
        parent.pop(last, None)
    elif isinstance(parent, list) and (at := index_of(last)) is not None and at < len(parent):
        del parent[at]

"""JSON patches (RFC 6902) as the API server applies them.

Mirrors evanphx/json-patch v4, Kubernetes 1.36: negative indexes count from the end, a pointer's text before
its first slash is ignored, and every failure has the same message.
"""

from __future__ import annotations

from whysync.json_tree import MISSING, Json, Missing, Object, copy, fields, text
from whysync.kubernetes.api.pointer import unescape
from whysync.kubernetes.apiserver.status_errors import Refused


def apply_json_patch(document: Object, operations: list[Json]) -> Object:
    """The patched copy; raises `Refused`."""
    changed = copy(document)
    for raw in operations:
        changed = _applied_operation(changed, fields(raw))
    if not isinstance(changed, dict):
        raise rejected()
    return changed


def rejected() -> Refused:
    return Refused(422, "Invalid", "the server rejected our request due to an error in our request", {})


def _applied_operation(document: Json, operation: Object) -> Json:
    path = text(operation.get("path"))
    match operation.get("op"):
        case "add":
            return _add(document, path, copy(operation.get("value")))
        case "remove":
            _remove(document, path)
        case "replace":
            return _replace(document, path, copy(operation.get("value")))
        case "move":
            source = text(operation.get("from"))
            value = _value_at(document, _keys(source))
            if isinstance(value, Missing):
                raise rejected()
            _remove(document, source)
            return _add(document, path, value)
        case "copy":
            value = _value_at(document, _keys(text(operation.get("from"))))
            if isinstance(value, Missing):
                raise rejected()
            return _add(document, path, copy(value))
        case "test":
            current = _value_at(document, _keys(path))
            expected = operation.get("value")
            if isinstance(current, Missing):
                current = None
            if current != expected or isinstance(current, bool) != isinstance(expected, bool):
                raise rejected()
        case _:
            raise rejected()
    return document


def _keys(path: str) -> list[str]:
    return [unescape(key) for key in path.split("/")[1:]]


def _value_at(document: Json, keys: list[str]) -> Json | Missing:
    value: Json | Missing = document
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key, MISSING)
        elif isinstance(value, list):
            index = _index(key, len(value))
            value = value[index] if index is not None and index < len(value) else MISSING
        else:
            return MISSING
    return value


def _index(key: str, length: int) -> int | None:
    if not key.lstrip("-").isdecimal() or key.count("-") > 1:
        return None
    index = int(key)
    if index < 0:
        index += length
    return index if index >= 0 else None


def _parent(document: Json, path: str) -> tuple[Json, str]:
    keys = _keys(path)
    if not keys:
        raise rejected()
    parent = _value_at(document, keys[:-1])
    if isinstance(parent, Missing):
        raise rejected()
    return parent, keys[-1]


def _add(document: Json, path: str, value: Json) -> Json:
    if not path:
        return value
    parent, last = _parent(document, path)
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        index = len(parent) if last == "-" else _index(last, len(parent) + 1)
        if index is None or index > len(parent):
            raise rejected()
        parent.insert(index, value)
    else:
        raise rejected()
    return document


def _replace(document: Json, path: str, value: Json) -> Json:
    if not path:
        return value
    parent, last = _parent(document, path)
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        index = _index(last, len(parent))
        if index is None or index >= len(parent):
            raise rejected()
        parent[index] = value
    return document


def _remove(document: Json, path: str) -> None:
    parent, last = _parent(document, path)
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        index = _index(last, len(parent))
        if index is None or index >= len(parent):
            raise rejected()
        del parent[index]
    else:
        raise rejected()

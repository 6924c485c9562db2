"""JSON patches (RFC 6902) as the API server carries them out.

Mirrors evanphx/json-patch v4, Kubernetes 1.36: negative indexes count from the end, a pointer's text before
its first slash is passed over, and whatever fails says no more than that the request was rejected.
"""

from __future__ import annotations

from whysync.json_tree import MISSING, Json, Missing, Object, copy, fields, text
from whysync.kubernetes.api.pointer import unescape
from whysync.kubernetes.apiserver.status_errors import Refused


def apply_json_patch(document: Object, operations: list[Json]) -> Object:
    """The patched copy; raises `Refused`."""
    changed = copy(document)
    for raw in operations:
        changed = _carried_out(changed, fields(raw))
    if not isinstance(changed, dict):
        raise rejected()
    return changed


def rejected() -> Refused:
    return Refused(422, "Invalid", "the server rejected our request due to an error in our request", {})


def _carried_out(document: Json, operation: Object) -> Json:
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
            value = _look(document, _parts(source))
            if isinstance(value, Missing):
                raise rejected()
            _remove(document, source)
            return _add(document, path, value)
        case "copy":
            value = _look(document, _parts(text(operation.get("from"))))
            if isinstance(value, Missing):
                raise rejected()
            return _add(document, path, copy(value))
        case "test":
            current = _look(document, _parts(path))
            expected = operation.get("value")
            if isinstance(current, Missing):
                current = None
            if current != expected or isinstance(current, bool) != isinstance(expected, bool):
                raise rejected()
        case _:
            raise rejected()
    return document


def _parts(path: str) -> list[str]:
    return [unescape(part) for part in path.split("/")[1:]]


def _look(document: Json, parts: list[str]) -> Json | Missing:
    value: Json | Missing = document
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part, MISSING)
        elif isinstance(value, list):
            at = _index(part, len(value))
            value = value[at] if at is not None and at < len(value) else MISSING
        else:
            return MISSING
    return value


def _index(part: str, length: int) -> int | None:
    if not part.lstrip("-").isdecimal() or part.count("-") > 1:
        return None
    at = int(part)
    if at < 0:
        at += length
    return at if at >= 0 else None


def _parent(document: Json, path: str) -> tuple[Json, str]:
    parts = _parts(path)
    if not parts:
        raise rejected()
    parent = _look(document, parts[:-1])
    if isinstance(parent, Missing):
        raise rejected()
    return parent, parts[-1]


def _add(document: Json, path: str, value: Json) -> Json:
    if not path:
        return value
    parent, last = _parent(document, path)
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        at = len(parent) if last == "-" else _index(last, len(parent) + 1)
        if at is None or at > len(parent):
            raise rejected()
        parent.insert(at, value)
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
        at = _index(last, len(parent))
        if at is None or at >= len(parent):
            raise rejected()
        parent[at] = value
    return document


def _remove(document: Json, path: str) -> None:
    parent, last = _parent(document, path)
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        at = _index(last, len(parent))
        if at is None or at >= len(parent):
            raise rejected()
        del parent[at]
    else:
        raise rejected()

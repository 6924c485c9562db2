"""A schema violation: one place where an object does not match its schema."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from whysync.json_tree import MISSING, Json, Missing
from whysync.kubernetes.schema.releases import Span


class ViolationKind(Enum):
    UNKNOWN = "unknown field"
    TYPE = "wrong type"
    REJECTED = "rejected"


class SchemaViolation(NamedTuple):
    """One violation, at `pointer`; `text` describes it.

    Of an unknown field, `path` is the dotted path, `better` the correct name, `span` the releases that have
    it. Of a wrong type, `value` is the value in its correct type.
    """

    how: ViolationKind
    pointer: str
    text: str
    better: str = ""
    value: Json | Missing = MISSING
    span: Span | None = None
    path: str = ""


def as_pointer(body: Json, path: str) -> str:
    """`spec.ports[0].name` as a pointer into the object; keys with dots and slashes are resolved."""
    parts: list[str] = []
    node: Json | Missing = body
    rest = path
    while rest:
        rest = rest.removeprefix(".")
        if isinstance(node, dict):
            bracketed = rest.startswith("[")
            inner = rest[1:] if bracketed else rest
            matches = [
                key for key in node if inner.startswith(key) and inner[len(key) : len(key) + 1] in _ENDS
            ]
            key = max(matches, key=len) if matches else _first(inner)
            rest = inner[len(key) :]
            if bracketed:
                rest = rest.removeprefix("]")
            node = node.get(key, MISSING)
        elif rest.startswith("["):
            key, _, rest = rest[1:].partition("]")
            at = int(key) if key.isdecimal() and len(key) < 7 else -1
            node = node[at] if isinstance(node, list) and 0 <= at < len(node) else MISSING
        else:
            key = _first(rest)
            rest = rest[len(key) :]
            node = MISSING
        if not key:
            break
        parts.append(key)
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


_ENDS = ("", ".", "[", "]")


def _first(path: str) -> str:
    end = min((at for at in (path.find("."), path.find("["), path.find("]")) if at >= 0), default=len(path))
    return path[:end]

"""Fields of a manifest whose values are of another type than Kubernetes wants there.

The API server stops at the first of them and often does not say where it is: a patch that it cannot read is
answered with `unrecognized type: int32`, and a list's index is never told.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whysync.json_tree import MISSING, Json, Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child
from whysync.kubernetes.schema import Type, type_of

_WORDS = {
    "string": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "list": "a list",
    "map": "a map",
    "struct": "a map",
}
_DEEPEST = 40


class Mistyped(msgspec.Struct, frozen=True, kw_only=True):
    """`wanted` is the type in the schema; `value` what Git has in that type, where nothing is lost."""

    pointer: str
    wanted: str
    value: Json | Missing = MISSING

    @property
    def words(self) -> str:
        return _WORDS[self.wanted]


def mistyped(manifest: Manifest) -> tuple[Mistyped, ...]:
    """Of a kind of Kubernetes itself, in the order of the manifest; nothing for other kinds."""
    kind = type_of(manifest.ref.api_version, manifest.ref.kind)
    return tuple(_inside(manifest.body, kind, "", 0)) if kind is not None else ()


def _inside(value: Json, kind: Type, at: str, depth: int) -> Iterator[Mistyped]:
    if value is None or depth > _DEEPEST:
        return
    match kind.kind, value:
        case "struct", dict():
            for key, item in value.items():
                field = kind.struct.fields.get(key)
                if field is not None:
                    yield from _inside(item, field.type, child(at, key), depth + 1)
        case "map", dict():
            for key, item in value.items():
                yield from _inside(item, kind.of, child(at, key), depth + 1)
        case "list", list():
            for index, item in enumerate(value):
                yield from _inside(item, kind.of, child(at, index), depth + 1)
        case _:
            if kind.kind in _WORDS and not _fits(value, kind.kind):
                yield Mistyped(pointer=at, wanted=kind.kind, value=_turned(value, kind.kind))


def _fits(value: Json, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return False


def _turned(value: Json, wanted: str) -> Json | Missing:
    if wanted == "string" and isinstance(value, bool):
        return "true" if value else "false"
    if wanted == "string" and isinstance(value, int):
        return str(value)
    if wanted == "bool" and value in ("true", "false"):
        return value == "true"
    if wanted == "int" and isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else MISSING
    return MISSING


def has_schema(manifest: Manifest) -> bool:
    """Is the schema of its kind at hand, so that nothing found means that nothing is wrong?"""
    return type_of(manifest.ref.api_version, manifest.ref.kind) is not None

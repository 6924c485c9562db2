"""Schema errors: fields of a manifest whose value has the wrong type, and whether Git has corrected them.

The API server stops at the first one and often does not report its path: a patch that it cannot decode is
answered with `unrecognized type: int32`, and the index in a list is never reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whysync.json_tree import MISSING, Json, Missing, fields, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child, index_of, join, split
from whysync.kubernetes.schema import Type, type_of
from whysync.kubernetes.schema.releases import ALWAYS, OLDEST, span_at
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem

# Messages about plain types; quantities and times have messages of their own.
_PLAIN_TYPES = ("unrecognized type", "cannot restore", "cannot unmarshal", "cannot convert")


_WORDS = {
    "string": "a string",
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "list": "a list",
    "map": "a map",
    "struct": "a map",
}
_DEEPEST = 40
# Keys by which `kubectl apply` merges lists in which another field, such as the name, must be unique as well.
_MERGE_KEYS = ("containerPort", "port", "mountPath", "devicePath", "ip")


class Mistyped(msgspec.Struct, frozen=True, kw_only=True):
    """`expected` is the type in the schema; `value` is Git's value converted to it, if nothing is lost."""

    pointer: str
    expected: str
    value: Json | Missing = MISSING

    @property
    def expected_text(self) -> str:
        return _WORDS[self.expected]


def mistyped(manifest: Manifest) -> tuple[Mistyped, ...]:
    """Fields of the wrong type, in the order of the manifest. Only built-in kinds have a schema here."""
    kind = type_of(manifest.ref.api_version, manifest.ref.kind)
    return tuple(_inside(manifest.body, kind, "", 0)) if kind is not None else ()


def _inside(value: Json, kind: Type, pointer: str, depth: int) -> Iterator[Mistyped]:
    if value is None or depth > _DEEPEST:
        return
    match kind.kind, value:
        case "struct", dict():
            for key, item in value.items():
                field = kind.struct.fields.get(key)
                if field is not None:
                    yield from _inside(item, field.type, child(pointer, key), depth + 1)
        case "map", dict():
            for key, item in value.items():
                yield from _inside(item, kind.of, child(pointer, key), depth + 1)
        case "list", list():
            for index, item in enumerate(value):
                yield from _inside(item, kind.of, child(pointer, index), depth + 1)
        case _:
            if kind.kind in _WORDS and not _fits(value, kind.kind):
                yield Mistyped(pointer=pointer, expected=kind.kind, value=_converted(value, kind.kind))


def _fits(value: Json, expected: str) -> bool:
    match expected:
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


def _converted(value: Json, expected: str) -> Json | Missing:
    if expected == "string" and isinstance(value, bool):
        return "true" if value else "false"
    if expected == "string" and isinstance(value, int):
        return str(value)
    if expected == "bool" and value in ("true", "false"):
        return value == "true"
    if expected == "int" and isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else MISSING
    return MISSING


def has_schema(manifest: Manifest) -> bool:
    """Is the schema of its kind known, so that no finding means that all types are right?"""
    return type_of(manifest.ref.api_version, manifest.ref.kind) is not None


def other_release_text(failure: SchemaInvalid, desired: Manifest | None) -> str:
    """For an unknown field that exists in another Kubernetes release: which one. Else empty."""
    if desired is None or failure.problem is not SchemaProblem.UNKNOWN_FIELD:
        return ""
    span = span_at(desired.ref.api_version, desired.ref.kind, split(failure.pointer))
    if span is None or span == ALWAYS:
        return ""
    if span.first > OLDEST:
        return f"it was added in Kubernetes 1.{span.first}, and this cluster is older"
    return f"Kubernetes 1.{span.last + 1} removed it"


def merged_with_live(failure: SchemaInvalid, desired: Manifest | None, live: Manifest | None) -> str:
    """Why a value appears twice that Git has once: the patch added Git's element next to the live one.

    `kubectl apply` merges lists such as ports by a key. If someone changed that key of the live element, the
    patch neither finds it nor removes it.
    """
    if failure.problem is not SchemaProblem.DUPLICATE or desired is None or live is None:
        return ""
    parts = split(failure.pointer)
    if len(parts) < 2 or not parts[-2].isdecimal():
        return ""
    around, name = join(parts[:-2]), parts[-1]
    declared, stored = (
        [fields(entry) for entry in items(side.at(around)) if str(fields(entry).get(name)) == failure.value]
        for side in (desired, live)
    )
    if len(declared) != 1 or len(stored) != 1:
        return ""
    key = next((key for key in _MERGE_KEYS if declared[0].get(key) != stored[0].get(key)), "")
    if not key:
        return ""
    in_git, in_cluster = declared[0].get(key), stored[0].get(key)
    return (
        f"Git has it once, with {key} {in_git}; the live element has {key} {in_cluster}, so the patch adds a"
        " second one: the list is merged by that key"
    )


def mistyped_field(failure: SchemaInvalid, desired: Manifest | None) -> Mistyped | None:
    """The field of the wrong type. The API server reports a path without indexes, or none."""
    if desired is None or failure.problem is not SchemaProblem.TYPE:
        return None
    parts = tuple(split(failure.pointer)) or tuple(part for part in failure.field.split(".") if part)
    candidates = mistyped(desired)
    matching = [
        mistyped
        for mistyped in candidates
        if _without_indexes(split(mistyped.pointer)) == _without_indexes(parts)
    ]
    return next(iter(matching if parts else candidates), None)


def _without_indexes(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in parts if index_of(part) is None)


def dotted_path(pointer: str) -> str:
    """`spec.containers[0].ports`, as Kubernetes writes it."""
    parts = (f".{part}" if index_of(part) is None else f"[{part}]" for part in split(pointer))
    return "".join(parts).removeprefix(".")


def correction_in_git(failure: SchemaInvalid, desired: Manifest | None, wrong: Mistyped | None) -> str:
    """How Git has corrected the error; empty if it has not, or if that is unknown."""
    if desired is None:
        return ""
    if failure.problem is SchemaProblem.UNKNOWN_FIELD and failure.pointer:
        gone = isinstance(desired.at(failure.pointer), Missing)
        return "the field was removed from Git" if gone else ""
    plain = failure.problem is SchemaProblem.TYPE and any(words in failure.detail for words in _PLAIN_TYPES)
    return "the type is corrected in Git" if plain and wrong is None and has_schema(desired) else ""

"""`knownTypeFields`: parts of custom resources that are types of Kubernetes, written in their canonical form.

Mirrors `util/argo/normalizers/knowntypes_normalizer.go`, Argo CD 3.6. The part goes through its Go type and
back: quantities get their shortest text, unknown fields are lost, and fields that Go always writes appear
even where nobody wrote them. That happens on both sides, so only real differences are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Protocol

from whysync.json_tree import Json, Missing, Object, copy_object, dig
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.schema import Field, Struct, Type, type_named
from whysync.kubernetes.schema.scalars import (
    NotOfType,
    as_bytes,
    as_duration,
    as_int_or_string,
    as_integer,
    as_quantity,
    as_time,
)

_RESOURCE_LIST: Final = Type("map", pointer=False, element=Type("quantity", pointer=False))


class KnownField(Protocol):
    """One entry of `knownTypeFields`: a dotted path, and the name of a type."""

    @property
    def field(self) -> str: ...
    @property
    def type(self) -> str: ...


@cache
def known_type(name: str) -> Type | None:
    """The type behind `core/v1/PodSpec`, `core/Quantity` or `meta/v1/Duration`; `None`: not supported."""
    match name:
        case "core/Quantity":
            return Type("quantity", pointer=False)
        case "meta/v1/Duration":
            return Type("duration", pointer=False)
        case "core/v1/ResourceList":
            return _RESOURCE_LIST
        case "core/v1/List":
            return Type("raw", pointer=False)
        case _:
            pass
    if not name.startswith("core/v1/") or name.count("/") != 2:
        return None
    named = type_named(f"core/v1.{name.rpartition('/')[2]}")
    try:
        return named if named.struct else None
    except KeyError:
        return None


def with_known_types(obj: Object, fields_by_kind: Mapping[tuple[str, str], Sequence[KnownField]]) -> Object:
    """The object with its known parts in canonical form; a part that does not fit its type ends the work."""
    ref = ref_of(obj)
    known = fields_by_kind.get((ref.group, ref.kind), ())
    if not known:
        return obj
    try:
        return _rewritten(copy_object(obj), known)
    except RecursionError:  # deeper than any real type
        return obj


def _rewritten(obj: Object, known: Sequence[KnownField]) -> Object:
    for entry in known:
        kind = known_type(entry.type)
        if kind is not None:
            try:
                _rewrite(obj, entry.field.split("."), kind)
            except NotOfType:
                break  # what came before stays changed, as upstream
    return obj


def _rewrite(obj: Object, path: list[str], kind: Type) -> None:
    """Lists on the way are entered item by item."""
    for depth in range(1, len(path) + 1):
        value_list = dig(obj, *path[:depth])
        if not isinstance(value_list, list):
            continue
        for index, item in enumerate(value_list):
            if isinstance(item, dict):
                if depth == len(path):
                    value_list[index] = round_trip(item, kind)
                else:
                    _rewrite(item, path[depth:], kind)
        return
    value = dig(obj, *path)
    parent = dig(obj, *path[:-1])
    if not isinstance(value, Missing) and isinstance(parent, dict):
        parent[path[-1]] = round_trip(value, kind)


def round_trip(value: Json, kind: Type) -> Json:
    """A value read into a Go type and written again; raises `NotOfType`."""
    if value is None:
        return _zero(kind)
    match kind.kind:
        case "struct":
            if not isinstance(value, dict):
                raise NotOfType
            return _struct(value, kind.struct)
        case "list":
            if not isinstance(value, list):
                raise NotOfType
            return [round_trip(item, kind.of) for item in value]
        case "map":
            if not isinstance(value, dict):
                raise NotOfType
            return {key: round_trip(item, kind.of) for key, item in value.items()}
        case _:
            return _scalar(value, kind)


def _scalar(value: Json, kind: Type) -> Json:
    match kind.kind:
        case "int":
            return as_integer(value, kind.bounds)
        case "quantity":
            return as_quantity(value)
        case "int-or-string":
            return as_int_or_string(value)
        case "bytes":
            return as_bytes(value)
        case "time" | "microtime":
            return as_time(value, micro=kind.kind == "microtime")
        case "duration":
            return as_duration(value)
        case "string" if not isinstance(value, str):
            raise NotOfType
        case "bool" if not isinstance(value, bool):
            raise NotOfType
        case "float" if isinstance(value, bool) or not isinstance(value, int | float):
            raise NotOfType
        case _:
            return value


def _struct(value: Object, struct: Struct) -> Object:
    given: dict[str, Json] = {}
    for key, item in value.items():
        field = struct.fields.get(key) or struct.folded.get(key.lower())  # Go takes names in any case
        if field is not None:
            given[field.name] = item
    written: Object = {}
    for name in sorted(struct.fields):
        field = struct.fields[name]
        item = round_trip(given.get(name), field.type)
        if not _left_out(item, field):
            written[name] = item
    return written


def _left_out(item: Json, field: Field) -> bool:
    """`omitempty` never leaves out a struct that is no pointer; `omitzero` does."""
    if field.type.pointer or field.type.kind in ("list", "map", "raw"):
        return field.omit_empty and (item is None or (item in ([], {}) and not field.type.pointer))
    if field.omit_zero and item == _zero(field.type):
        return True
    if field.type.kind in ("struct", "time", "microtime", "quantity", "int-or-string", "duration"):
        return False
    return field.omit_empty and item in (None, "", 0, False)


def _zero(kind: Type) -> Json:
    if kind.pointer:
        return None
    match kind.kind:
        case "struct":
            return _struct({}, kind.struct)
        case "string" | "bytes":
            return "" if kind.kind == "string" else None
        case "int" | "float" | "int-or-string":
            return 0
        case "bool":
            return False
        case "quantity":
            return "0"
        case "duration":
            return "0s"
        case _:
            return None

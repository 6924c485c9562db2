"""`knownTypeFields`: normalizes fields of custom resources that have a Kubernetes type.

Mirrors `util/argo/normalizers/knowntypes_normalizer.go`, Argo CD 3.6. The field is decoded into its Go type
and encoded again: quantities become canonical, unknown fields are lost, and fields without `omitempty` are
added. Both sides are normalized, so only real differences remain.
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
    """The type of `core/v1/PodSpec`, `core/Quantity` or `meta/v1/Duration`; `None` if not supported."""
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
    core_type = type_named(f"core/v1.{name.rpartition('/')[2]}")
    try:
        return core_type if core_type.struct else None
    except KeyError:
        return None


def with_known_types(obj: Object, fields_by_kind: Mapping[tuple[str, str], Sequence[KnownField]]) -> Object:
    """The object with its known fields normalized; stops at a field that does not match its type."""
    ref = ref_of(obj)
    known_fields = fields_by_kind.get((ref.group, ref.kind), ())
    if not known_fields:
        return obj
    try:
        return _rewritten(copy_object(obj), known_fields)
    except RecursionError:  # deeper than any real type
        return obj


def _rewritten(obj: Object, known_fields: Sequence[KnownField]) -> Object:
    for entry in known_fields:
        kind = known_type(entry.type)
        if kind is not None:
            try:
                _rewrite(obj, entry.field.split("."), kind)
            except NotOfType:
                break  # earlier fields stay normalized, as upstream
    return obj


def _rewrite(obj: Object, path: list[str], kind: Type) -> None:
    """Rewrites a field; lists in its path are traversed."""
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
    """The value decoded into a Go type and encoded again; raises `NotOfType`."""
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
    decoded: dict[str, Json] = {}
    for key, item in value.items():
        field = struct.fields.get(key) or struct.folded.get(
            key.lower()
        )  # Go matches field names case-insensitively
        if field is not None:
            decoded[field.name] = item
    encoded: Object = {}
    for name in sorted(struct.fields):
        field = struct.fields[name]
        item = round_trip(decoded.get(name), field.type)
        if not _left_out(item, field):
            encoded[name] = item
    return encoded


def _left_out(item: Json, field: Field) -> bool:
    """`omitempty` never omits a struct that is not a pointer; `omitzero` does."""
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

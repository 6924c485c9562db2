"""An object as Argo CD sees it after a round trip through the Go type of its kind.

Mirrors gitops-engine `remarshal`, Argo CD 3.6: quantities, times and durations get their canonical text,
empty values that Go leaves out disappear, and nothing is added that was not written. One unknown or
ill-typed field anywhere, and the whole object stays exactly as it was. Custom resources stay as they are.

Differs: where a secret value was replaced by a mark, the mark counts as valid bytes.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, text
from whysync.kubernetes.schema import Field, Struct, Type, type_of
from whysync.kubernetes.schema.scalars import (
    NotOfType,
    as_bytes,
    as_duration,
    as_int_or_string,
    as_integer,
    as_quantity,
    as_time,
    zero,
)


class _Omitted:
    """The mark of a field that Go does not write."""


_OMITTED: Final = _Omitted()


def remarshal(obj: Object) -> Object:
    """The canonical object; the same one (not a copy) when there is nothing to change."""
    return remarshalled(obj)[0]


def remarshalled(obj: Object) -> tuple[Object, bool]:
    """The canonical object, and whether it fits the type of its kind."""
    kind = scheme_type(obj)
    if kind is None:
        return obj, False
    try:
        return _of_struct(obj, kind.struct, strict=True), True
    except NotOfType:
        return obj, False


def scheme_type(obj: Object) -> Type | None:
    """The Go type of this object in Argo CD's scheme, if any."""
    return type_of(text(obj.get("apiVersion")), text(obj.get("kind")), in_scheme=True)


def is_decodable(obj: Object, kind: Type) -> bool:
    """Can Go read the object into its type, unknown fields aside?"""
    try:
        _of_struct(obj, kind.struct, strict=False)
    except NotOfType:
        return False
    return True


def canonical(value: Json, kind: Type) -> Json:
    """A value written back by its type; raises `NotOfType`. Absent fields are not added."""
    return _of(value, kind, strict=True)


def _of_struct(value: Json, struct: Struct, *, strict: bool) -> Object:
    if not isinstance(value, dict):
        raise NotOfType
    fields = struct.fields
    changed: Object | None = None
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            _check_stranger(key, item, struct, strict=strict)
            if key.lower() in struct.folded:
                # Go reads `Replicas` as `replicas`, and writes it back under a name that the input lacks.
                changed = dict(value) if changed is None else changed
                del changed[key]
            continue
        kind = field.kind
        if item and kind == "string" and item.__class__ is str:
            continue
        if kind == "struct" and item is not None:
            new = _of_struct(item, field.type.struct, strict=strict)
        elif item and kind == "list":
            new = _of_list(item, field.type.of, strict=strict)
        else:
            new = _of_field(item, field, strict=strict)
        if new is item:
            continue
        if changed is None:
            changed = dict(value)
        if isinstance(new, _Omitted):
            del changed[key]
        else:
            changed[key] = new
    return value if changed is None else changed


def _check_stranger(key: str, item: Json, struct: Struct, *, strict: bool) -> None:
    field = struct.folded.get(key.lower())
    if field is not None:
        _of_field(item, field, strict=strict)
    elif strict:
        raise NotOfType


def _of_field(item: Json, field: Field, *, strict: bool) -> Json | _Omitted:
    kind = field.type
    new = zero(kind) if item is None else _of(item, kind, strict=strict)
    if field.omit_empty and (new is None or (not kind.pointer and _is_empty(new, kind))):
        return _OMITTED
    if field.omit_zero and new is None:
        return _OMITTED
    return new


def _is_empty(value: Json, kind: Type) -> bool:
    """Go's `omitempty`: no struct is ever empty, and quantities, times and the like are structs."""
    return not value and kind.kind in {"string", "bool", "int", "float", "list", "map", "bytes"}


def _of(value: Json, kind: Type, *, strict: bool) -> Json:
    match kind.kind:
        case "string":
            if value.__class__ is not str:
                raise NotOfType
            return value
        case "struct":
            return _of_struct(value, kind.struct, strict=strict)
        case "list":
            return _of_list(value, kind.of, strict=strict)
        case "map":
            return _of_map(value, kind.of, strict=strict)
        case "bool":
            if value is not True and value is not False:
                raise NotOfType
            return value
        case "int":
            return value if value.__class__ is int and _fits(value, kind) else as_integer(value, kind.bounds)
        case "float":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise NotOfType
            return value
        case _:
            return _of_scalar(value, kind)


def _fits(value: Json, kind: Type) -> bool:
    return isinstance(value, int) and kind.bounds[0] <= value <= kind.bounds[1]


def _of_scalar(value: Json, kind: Type) -> Json:
    match kind.kind:
        case "quantity":
            new: Json = as_quantity(value)
        case "int-or-string":
            new = as_int_or_string(value)
        case "bytes":
            new = as_bytes(value)
        case "time":
            new = as_time(value)
        case "microtime":
            new = as_time(value, micro=True)
        case "duration":
            new = as_duration(value)
        case _:
            return value
    return value if new == value and new.__class__ is value.__class__ else new


def _of_list(value: Json, element: Type, *, strict: bool) -> Json:
    if not isinstance(value, list):
        raise NotOfType
    changed: list[Json] | None = None
    struct = element.struct if element.kind == "struct" else None
    for index, item in enumerate(value):
        if struct is not None and item is not None:
            new: Json = _of_struct(item, struct, strict=strict)
        else:
            new = zero(element) if item is None else _of(item, element, strict=strict)
        if new is not item:
            if changed is None:
                changed = list(value)
            changed[index] = new
    return value if changed is None else changed


def _of_map(value: Json, element: Type, *, strict: bool) -> Json:
    if not isinstance(value, dict):
        raise NotOfType
    changed: Object | None = None
    plain = element.kind == "string"
    for key, item in value.items():
        if plain and item.__class__ is str:
            continue
        new = zero(element) if item is None else _of(item, element, strict=strict)
        if new is not item:
            if changed is None:
                changed = dict(value)
            changed[key] = new
    return value if changed is None else changed

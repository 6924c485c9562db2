"""Decodes the body of a request to the object that the server returns: typed, with zero values.

Mirrors what Go's decoder and encoder do between them, Kubernetes 1.36: fields that Go always writes appear
with their zero value, empty fields with `omitempty` are dropped, quantities, times and bytes become
canonical. Unknown fields are reported (`unknown field "spec.replicass"`); a value of the wrong type raises
`BadBody`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple, TypeAlias, cast

from whysync.golang.decode_errors import time_problem
from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import MISSING, Json, Missing, Object, json_kind
from whysync.kubernetes.apiserver.go_type_names import go_field_path, named_type
from whysync.kubernetes.schema import Field, Struct, Type
from whysync.kubernetes.schema.scalars import (
    NotOfType,
    as_bytes,
    as_duration,
    as_int_or_string,
    as_quantity,
    as_time,
    number_text,
    zero,
)
from whysync.kubernetes.schema.types import struct_named

_FORM: Final = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_MICRO: Final = re.compile(r".*\.\d{6}(?:Z|[+-]\d\d:\d\d)")
_OMITTED_EMPTY: Final = frozenset({"string", "bool", "int", "float", "list", "map", "bytes"})


class BadBody(Exception):
    """The body does not match the type; the message is that of Go's decoder."""


def decode(body: Object, kind: Type, live: Object | None = None) -> tuple[Object, list[str]]:
    """The object, and its unknown fields (as strict decoding reports them).

    Values that are identical to those of the live object were decoded before and are not decoded again.
    """
    unknown_fields: list[str] = []
    try:
        return _regular(body, _plan(kind.name), unknown_fields, live), unknown_fields
    except (_Irregular, BadBody):
        unknown_fields.clear()
        return _struct(body, kind.struct, "", unknown_fields, live), unknown_fields


def rewrite(obj: Object, kind: Type, *, stored: bool = False, live: Object | None = None) -> Object:
    """A changed object in canonical form; with `stored`, empty lists and maps are dropped as in the store."""
    unknown_fields = _Stored() if stored else list[str]()
    try:
        return _regular(obj, _plan(kind.name), unknown_fields, live)
    except (_Irregular, BadBody):
        return _struct(obj, kind.struct, "", unknown_fields, live)


class _Stored(list[str]):
    """Marks the decoding of a stored object, which has no unknown fields."""


def zero_object(kind: Type, api_version: str, name: str) -> Object:
    """The zero value of a kind, with which a new object is compared."""
    return {**_struct({}, kind.struct, "", []), "apiVersion": api_version, "kind": name}


class _Slot:
    """Properties of a field that decoding needs, computed once."""

    __slots__ = ("collection", "drops_empty", "kind", "omit_empty", "omit_zero", "place", "type")

    def __init__(self, field: Field, place: int) -> None:
        self.type = field.type
        self.kind = field.type.kind
        self.place = place
        self.collection = self.kind in {"list", "map"}
        self.omit_empty = field.omit_empty
        self.drops_empty = field.omit_empty and not field.type.pointer and self.kind in _OMITTED_EMPTY
        self.omit_zero = field.omit_zero


_Layout: TypeAlias = "list[tuple[str, _Slot | None, Json | Missing]]"
"""In the order of the type: a field, its slot if it is given, and what Go writes for it if it is absent."""
_MOST_LAYOUTS: Final = 256


class _Plan(NamedTuple):
    struct: Struct
    slots: dict[str, _Slot]
    always: tuple[tuple[str, Json], ...]
    """Values that Go writes for absent fields."""
    layouts: dict[tuple[str, ...], _Layout]
    """By the fields that are given: most objects of a kind have the same ones."""


@cache
def _plan(name: str) -> _Plan:
    struct = struct_named(name)
    struct_fields = struct.fields
    absent = [
        (key, value)
        for key, field in struct_fields.items()
        if not isinstance(value := _absent_value(field), Missing)
    ]
    slots = {key: _Slot(field, index) for index, (key, field) in enumerate(struct_fields.items())}
    return _Plan(struct, slots, tuple(absent), {})


class _Irregular(Exception):
    """An unknown field, or a value of the wrong type, which `_struct` reports."""


def _regular(value: Object, plan: _Plan, unknown_fields: list[str], live: Object | None = None) -> Object:
    """What `_struct` returns for a value without problems; else raises `_Irregular` or `BadBody`."""
    given = tuple(value)
    layout = plan.layouts.get(given)
    if layout is None:
        layout = _new_layout(plan, given)
    ordered: Object = {}
    for key, slot, absent in layout:
        item = None if slot is None else value[key]
        if slot is None or item is None:
            if absent is not MISSING:
                ordered[key] = dict(absent) if isinstance(absent, dict) else cast("Json", absent)
        elif live is not None and live.get(key) is item:
            ordered[key] = item
        else:
            kind = slot.kind
            if kind == "string" and item.__class__ is str:
                new = item
            elif kind == "struct" and isinstance(item, dict):
                new = _regular(item, _plan(slot.type.name), unknown_fields)
            elif kind == "list" and slot.type.of.kind == "struct" and isinstance(item, list):
                new = _regular_list(item, slot.type.of, unknown_fields)
            else:
                new = _value(item, slot.type, "", plan.struct, unknown_fields)
                if unknown_fields:
                    raise _Irregular
            if new or not isinstance(
                new := _or_missing(new, slot, stored=unknown_fields.__class__ is _Stored), Missing
            ):
                ordered[key] = new
    return ordered


def _regular_list(value: list[Json], kind: Type, unknown_fields: list[str]) -> list[Json]:
    plan = _plan(kind.name)
    elements: list[Json] = []
    for element in value:
        if not isinstance(element, dict):
            raise _Irregular
        elements.append(_regular(element, plan, unknown_fields))
    return elements


def _new_layout(plan: _Plan, given: tuple[str, ...]) -> _Layout:
    if not plan.slots.keys() >= set(given):
        raise _Irregular
    absent = dict(plan.always)
    layout: _Layout = [
        (key, slot if key in given else None, absent.get(key, MISSING))
        for key, slot in plan.slots.items()
        if key in given or key in absent
    ]
    if len(plan.layouts) >= _MOST_LAYOUTS:
        plan.layouts.clear()
    plan.layouts[given] = layout
    return layout


def _struct(
    value: Object, struct: Struct, path: str, unknown_fields: list[str], live: Object | None = None
) -> Object:
    """Problems are in the order of the body; the result is in the order of the type."""
    _, slots, absent_values, _ = _plan(struct.name)
    stored = unknown_fields.__class__ is _Stored
    read: dict[str, Json | Missing] = {}
    for key, item in value.items():
        slot = slots.get(key)
        if slot is None:
            unknown_fields.append(f'unknown field "{_join(path, key)}"')
        elif item is None:
            continue
        elif live is not None and live.get(key) is item:
            read[key] = item
        else:
            new = item
            if slot.kind != "string" or item.__class__ is not str:
                new = _value(item, slot.type, _join(path, key), struct, unknown_fields)
            read[key] = new or _or_missing(new, slot, stored=stored)
    for key, absent in absent_values:
        if key not in read:
            read[key] = dict(absent) if isinstance(absent, dict) else absent
    ordered: Object = {}
    for key in sorted(read, key=lambda key: slots[key].place):
        new_value = read[key]
        if not isinstance(new_value, Missing):
            ordered[key] = new_value
    return ordered


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _or_missing(value: Json, slot: _Slot, *, stored: bool) -> Json | Missing:
    """The empty value that Go writes, or `MISSING` if it omits it."""
    if stored and slot.collection:
        value = None
    if slot.drops_empty or (slot.omit_empty and value is None):
        return MISSING
    if slot.omit_zero and (value is None or value == {}):
        return MISSING
    return value


def _absent_value(field: Field) -> Json | Missing:
    kind = field.type
    if not kind.pointer and kind.kind == "quantity" and not field.omit_zero:
        return "0"
    if not kind.pointer and kind.kind in {"time", "microtime"} and not field.omit_zero:
        return None
    if kind.pointer or kind.kind != "struct":
        return MISSING if field.omit_empty or field.omit_zero else _plain_zero(kind)
    zero_value = _zero_struct(kind.name)
    return MISSING if field.omit_zero and not zero_value else dict(zero_value)


def _plain_zero(kind: Type) -> Json:
    return "0s" if kind.kind == "duration" and not kind.pointer else zero(kind)


@cache
def _zero_struct(name: str) -> Object:
    return _struct({}, Type("struct", pointer=False, name=name).struct, "", [])


def _value(item: Json, kind: Type, path: str, owner: Struct, unknown_fields: list[str]) -> Json:
    match kind.kind:
        case "struct":
            if not isinstance(item, dict):
                raise _unmarshal_type_error(item, kind, path, owner)
            return _struct(item, kind.struct, path, unknown_fields)
        case "list":
            if not isinstance(item, list):
                raise _unmarshal_type_error(item, kind, path, owner)
            if kind.of.kind == "string" and all(inner.__class__ is str for inner in item):
                return list(item)
            return [
                zero(kind.of)
                if inner is None
                else _value(inner, kind.of, f"{path}[{index}]", owner, unknown_fields)
                for index, inner in enumerate(item)
            ]
        case "map":
            if not isinstance(item, dict):
                raise _unmarshal_type_error(item, kind, path, owner)
            if kind.of.kind == "string" and all(inner.__class__ is str for inner in item.values()):
                return dict(item)
            return {
                key: _in_map(inner, kind.of, path, key, owner, unknown_fields) for key, inner in item.items()
            }
        case "string" if isinstance(item, str):
            return item
        case "bool" if isinstance(item, bool):
            return item
        case "float" if isinstance(item, (int, float)) and not isinstance(item, bool):
            return item
        case "int" if isinstance(item, int) and not isinstance(item, bool):
            if kind.bounds[0] <= item <= kind.bounds[1]:
                return item
            raise _unmarshal_type_error(item, kind, path, owner)
        case "raw":
            return item
        case _:
            return _scalar(item, kind, path, owner)


def _in_map(item: Json, kind: Type, path: str, key: str, owner: Struct, unknown_fields: list[str]) -> Json:
    if item is None:
        return "" if kind.kind == "bytes" else zero(kind)
    return _value(item, kind, path if kind.kind != "struct" else f"{path}.{key}", owner, unknown_fields)


def _scalar(item: Json, kind: Type, path: str, owner: Struct) -> Json:
    try:
        match kind.kind:
            case "quantity":
                return as_quantity(_quantity_text(item))
            case "int-or-string":
                if isinstance(item, float):
                    raise NotOfType
                return as_int_or_string(item)
            case "bytes":
                return as_bytes(item)
            case "time":
                return as_time(item)
            case "microtime":
                if isinstance(item, str) and not _MICRO.fullmatch(item):
                    raise NotOfType
                return as_time(item, micro=True)
            case "duration":
                return as_duration(item)
            case _:
                raise NotOfType
    except NotOfType:
        raise _problem(item, kind, path, owner) from None


def _quantity_text(item: Json) -> str:
    """The text of a quantity, which may be a number."""
    if isinstance(item, str):
        return item
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return number_text(item)
    raise NotOfType


def _problem(item: Json, kind: Type, path: str, owner: Struct) -> BadBody:
    if kind.kind == "quantity":
        return BadBody(_quantity_problem(item))
    if kind.kind == "bytes" and isinstance(item, str):
        return BadBody(f"illegal base64 data at input byte {_base64_end(item)}")
    if kind.kind in {"time", "microtime"} and isinstance(item, str):
        return BadBody(time_problem(item, micro=kind.kind == "microtime"))
    return _unmarshal_type_error(item, kind, path, owner)


def _quantity_problem(item: Json) -> str:
    text = item if isinstance(item, str) else "true"
    matched = _FORM.fullmatch(text.strip())
    if matched is not None and matched[1].count(".") < 2:
        try:
            canonical_quantity(text.strip())
        except BadQuantity:
            return "unable to parse quantity's suffix"
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _base64_end(text: str) -> int:
    """The position of Go's error: the first invalid character, or the last, incomplete group."""
    plain = text.replace("\n", "").replace("\r", "")
    for index, letter in enumerate(plain):
        if not (letter.isascii() and (letter.isalnum() or letter in "+/")):
            return index
    return len(plain) - len(plain) % 4


def _unmarshal_type_error(item: Json, kind: Type, path: str, owner: Struct) -> BadBody:
    plain_path = re.sub(r"\[\d+\]", "", path)
    name, type_alias = owner.name.rpartition(".")[2], named_type(owner.name, plain_path.rpartition(".")[2])
    type_name = go_type(kind)
    if type_alias and type_name in ("string", "[]string"):
        type_name = type_name.replace("string", type_alias)
    target = f"Go struct field {name}.{go_field_path(plain_path)} of type {type_name}"
    return BadBody(f"json: cannot unmarshal {_json_value_text(item, kind)} into {target}")


def _json_value_text(item: Json, kind: Type) -> str:
    kind_name = json_kind(item)
    return f"number {item}" if kind_name == "number" and kind.kind in {"int", "int-or-string"} else kind_name


def go_type(kind: Type) -> str:
    match kind.kind:
        case "list":
            return f"[]{go_type(kind.of)}"
        case "map" if kind.of.kind == "quantity":
            return "v1.ResourceList"
        case "map":
            return f"map[string]{go_type(kind.of)}"
        case "struct":
            package, _, name = kind.name.partition(".")
            return f"{package.rpartition('/')[2]}.{name}"
        case "int":
            width = kind.bounds[1].bit_length() + (1 if kind.bounds[0] < 0 else 0)
            return f"{'int' if kind.bounds[0] < 0 else 'uint'}{width}"
        case "int-or-string":
            return "int32"
        case "float":
            return "float64"
        case "bytes":
            return "[]uint8"
        case "time" | "microtime" | "duration":
            return "string"
        case other:
            return other

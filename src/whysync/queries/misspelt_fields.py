"""Misspelled fields: the schema field whose name is closest, that is unset and accepts the value."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.drift.schemas import missing_in_crd
from whysync.json_tree import Json, Missing, fields, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema import Type, type_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_NEAR: Final = 0.8
_APART: Final = 0.05
"""A second candidate within this distance makes the suggestion ambiguous."""
_TEXT: Final = frozenset({"string", "bytes", "quantity", "int-or-string", "time", "microtime", "duration"})
_NUMBER: Final = frozenset({"int", "float", "quantity", "int-or-string"})


def intended_field(case: Case, ref: Ref, pointer: str) -> str | None:
    """The pointer of the field that was probably intended; `None` if no candidate stands out."""
    desired = case.desired_of(ref.key)
    parts = pointers.split(pointer)
    if desired is None or len(parts) < 2:
        return None
    parent, name = pointers.join(parts[:-1]), parts[-1]
    value = desired.at(pointer)
    if isinstance(value, Missing):
        return None
    names = [field_name for field_name, fits in _fields_at_same_level(case, ref, pointer, value) if fits]
    nearest = _nearest(name, names)
    if nearest is None:
        return None
    best = pointers.child(parent, nearest)
    return best if isinstance(desired.at(best), Missing) else None


def similar_field(case: Case, ref: Ref, pointer: str) -> str | None:
    """The name of a field at the same level that is spelled alike, whatever its type."""
    name = pointers.split(pointer)[-1]
    names = [other for other, _ in _fields_at_same_level(case, ref, pointer, None)]
    return None if name in names else _nearest(name, names)


def _nearest(name: str, names: list[str]) -> str | None:
    """The most similar name; `None` if none is near, or two are about equally near."""
    candidates = sorted(((_similarity(name, other), other) for other in names), reverse=True)
    if not candidates or candidates[0][0] < _NEAR:
        return None
    is_ambiguous = len(candidates) > 1 and candidates[0][0] - candidates[1][0] < _APART
    return None if is_ambiguous else candidates[0][1]


def _similarity(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()


def _fields_at_same_level(case: Case, ref: Ref, pointer: str, value: Json) -> Iterator[tuple[str, bool]]:
    """The schema fields at that level, and whether the value fits their type."""
    schema_type = type_of(ref.api_version, ref.kind)
    if schema_type is not None:
        for part in pointers.split(pointer)[:-1]:
            if schema_type.kind == "struct":
                field = schema_type.struct.fields.get(part)
                if field is None:
                    return
                schema_type = field.type
            elif schema_type.kind in ("list", "map"):
                schema_type = schema_type.of
            else:
                return
        if schema_type.kind == "struct":
            yield from ((name, _fits(field.type, value)) for name, field in schema_type.struct.fields.items())
        return
    unknown = missing_in_crd(case, ref, pointer)
    parent = pointers.join(pointers.split(pointer)[:-1])
    if unknown is not None and missing_in_crd(case, ref, parent) is None:
        # If the parent is unknown too, the misspelled field is the parent.
        crd, place = unknown
        for name, schema in fields(crd.at(place)).items():
            yield name, _fits_crd_type(text(fields(schema).get("type")), value)


def _fits_crd_type(kind: str, value: Json) -> bool:
    """Does the value fit the type in a CRD's schema? A schema without a type fits nothing."""
    if isinstance(value, bool):
        return kind == "boolean"
    match kind:
        case "integer":
            return isinstance(value, int)
        case "number":
            return isinstance(value, int | float)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return False


def _fits(type: Type, value: Json) -> bool:
    match value:
        case bool():
            return type.kind == "bool"
        case int() | float():
            return type.kind in _NUMBER
        case str():
            return type.kind in _TEXT
        case list():
            return type.kind == "list"
        case dict():
            return type.kind in ("struct", "map")
        case _:
            return False

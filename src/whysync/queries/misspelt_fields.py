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
    above, name = pointers.join(parts[:-1]), parts[-1]
    value = desired.at(pointer)
    if isinstance(value, Missing):
        return None
    names = [known for known, fits in _beside(case, ref, pointer, value) if fits]
    near = sorted(((_likeness(name, known), known) for known in names), reverse=True)
    if not near or near[0][0] < _NEAR or (len(near) > 1 and near[0][0] - near[1][0] < _APART):
        return None
    result = pointers.child(above, near[0][1])
    return result if isinstance(desired.at(result), Missing) else None


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _beside(case: Case, ref: Ref, pointer: str, value: Json) -> Iterator[tuple[str, bool]]:
    """The fields that are known there, and whether such a value can be theirs."""
    at = type_of(ref.api_version, ref.kind)
    if at is not None:
        for part in pointers.split(pointer)[:-1]:
            if at.kind == "struct":
                field = at.struct.fields.get(part)
                if field is None:
                    return
                at = field.type
            elif at.kind in ("list", "map"):
                at = at.of
            else:
                return
        if at.kind == "struct":
            yield from ((name, _fits(field.type, value)) for name, field in at.struct.fields.items())
        return
    lacking = missing_in_crd(case, ref, pointer)
    above = pointers.join(pointers.split(pointer)[:-1])
    if lacking is not None and missing_in_crd(case, ref, above) is None:
        # Where what is above it is unknown too, what is lacking is lacking there.
        crd, place = lacking
        for name, schema in fields(crd.at(place)).items():
            yield name, _is_of(text(fields(schema).get("type")), value)


def _is_of(kind: str, value: Json) -> bool:
    """By the words of a CRD's schema; where it names no type, nothing is guessed."""
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

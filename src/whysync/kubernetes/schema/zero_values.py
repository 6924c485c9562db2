"""The zero values of Go types, which a decoder writes for null and for absent fields."""

from __future__ import annotations

from whysync.json_tree import Json, Object
from whysync.kubernetes.schema import Struct, Type
from whysync.kubernetes.schema.scalars import NotOfType


def zero(kind: Type) -> Json:
    """The value that Go writes for null."""
    if kind.pointer or kind.kind in {"list", "map", "bytes", "raw", "time", "microtime"}:
        return None
    match kind.kind:
        case "string":
            return ""
        case "bool":
            return False
        case "quantity":
            return "0"
        case "duration":
            raise NotOfType
        case "struct":
            return _zero_struct(kind.struct)
        case _:
            return 0


def _zero_struct(struct: Struct) -> Object:
    return {
        name: "0s" if field.type.kind == "duration" and not field.type.pointer else zero(field.type)
        for name, field in struct.fields.items()
        if not field.omit_zero and not (field.omit_empty and _goes_when_zero(field.type))
    }


def _goes_when_zero(kind: Type) -> bool:
    return kind.pointer or kind.kind in {"string", "bool", "int", "float", "list", "map", "bytes"}

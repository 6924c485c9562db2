"""CEL types of a schema, with the maximum and minimum size of values for cost estimation.

Mirrors apiserver `cel/common.SchemaDeclType`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Object, fields, integer, items, text
from whysync.kubernetes.cel.syntax_tree import escaped

LARGEST: Final = 3 * 2**20
"""The limit of a request in bytes, which is also the limit of every value in it."""
_FORMATS: Final = {"duration": ("duration", 3, 32), "date": ("timestamp", 12, 12),
                   "date-time": ("timestamp", 21, 32)}  # fmt: skip
_DEEPEST: Final = 60


class Shape(msgspec.Struct, frozen=True):
    kind: str
    most: int = 0
    """The maximum number of characters, items or entries; 0 for scalars."""
    least: int = 1
    """The minimum size of the encoded value in bytes."""
    of: Shape | None = None
    members: dict[str, Shape] = {}

    def __str__(self) -> str:
        if self.kind == "list":
            return f"list({self.of or DYN})"
        return f"map(string, {self.of or DYN})" if self.kind == "map" else self.kind


DYN: Final = Shape("dyn", LARGEST - 2)
BOOL, INT, DOUBLE = Shape("bool", 0, 4), Shape("int"), Shape("double")
NULL, KEY = Shape("null_type"), Shape("string", 0, 2)


def shape_of(schema: Object, *, root: bool = False, depth: int = 0) -> Shape | None:
    """The CEL type of a schema; `None` for a schema without a type, whose values rules cannot read."""
    longest = schema.get("maxLength")
    if depth > _DEEPEST:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return Shape("dyn", LARGEST - 2 if longest is None else max(integer(longest), 0) * 4)
    match schema.get("type"):
        case "array":
            inner = fields(schema.get("items"))
            of = shape_of(inner, root=_embedded(inner), depth=depth + 1)
            return None if of is None else Shape("list", _most(schema, "maxItems", of.least + 1), 2, of)
        case "object":
            return _object(schema, depth, root=root)
        case "string":
            return _string(schema)
        case "boolean":
            return BOOL
        case "number":
            return DOUBLE
        case "integer":
            return INT
        case _:
            return None


def _embedded(schema: Object) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _most(schema: Object, key: str, size: int) -> int:
    maximum = schema.get(key)
    return (LARGEST - 2) // size if maximum is None else max(integer(maximum), 0)


def _string(schema: Object) -> Shape:
    kind, least, most = _FORMATS.get(text(schema.get("format")), ("string", 2, LARGEST - 2))
    if kind != "string":
        return Shape(kind, most, least)
    longest = schema.get("maxLength")
    if schema.get("format") == "byte":
        return Shape("bytes", most if longest is None else max(integer(longest), 0), 2)
    if longest is not None:
        return Shape("string", max(integer(longest), 0) * 4, 2)
    enum_lengths = [len(text(enum_value)) for enum_value in items(schema.get("enum"))]
    return Shape("string", max(enum_lengths) if enum_lengths else most, 2)


def _object(schema: Object, depth: int, *, root: bool) -> Shape | None:
    others = fields(schema.get("additionalProperties"))
    if others:
        of = shape_of(others, root=_embedded(others), depth=depth + 1)
        return None if of is None else Shape("map", _most(schema, "maxProperties", of.least + 6), 2, of)
    required = items(schema.get("required"))
    members: dict[str, Shape] = {}
    least = 2
    for name, raw in fields(schema.get("properties")).items():
        inner = fields(raw)
        shape = shape_of(inner, root=_embedded(inner), depth=depth + 1)
        if shape is None:
            continue
        cel_name = escaped(name)
        if cel_name is not None:
            members[cel_name] = shape
        if name in required and inner.get("default") is None:
            least += len(name) + shape.least + 4
    if root:
        string = Shape("string", LARGEST - 2, 2)
        members.update(kind=string, apiVersion=string)
        members["metadata"] = Shape("object", 0, 2, None, {"name": string, "generateName": string})
    return Shape("object", 0, least, None, members)

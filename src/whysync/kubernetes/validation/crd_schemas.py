"""Structural schemas of CustomResourceDefinitions: the most common mistakes.

Mirrors a part of `apiextensions/validation` and of `apiserver/schema`, Kubernetes 1.36: every field names its
type, lists have items, the keys of a list map are always there, and metadata is left alone. A schema that
all versions share is reported at `spec.validation`, where the server keeps it then. CEL rules and regular
expressions are not compiled, and of defaults only those are checked that an enum forbids.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.validation.equality import same_plain
from whysync.kubernetes.validation.field_error import Problems, forbidden, invalid, required, unsupported

_DEEPEST = 60
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_ANY_FIELDS, _INT_OR_STRING = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_EMPTY = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NAMED = "must not specify anything other than name and generateName, but metadata is implicitly specified"


def shared_schema(versions: list[Object]) -> Object | None:
    """The schema of all versions, if it is the same; of one version alone, too."""
    schemas = [dig(version, "schema", "openAPIV3Schema") for version in versions]
    first = schemas[0] if schemas else None
    if not isinstance(first, dict) or not all(same_plain(first, other) for other in schemas[1:]):
        return None
    return first


def schema_problems(schema: Json | Missing, path: str) -> Problems:
    """Forbidden fields are reported first; only without them is the schema checked to be structural."""
    if not isinstance(schema, dict):
        return
    wrong = tuple(
        problem for part, where, _ in _parts(schema, path, "root", 0) for problem in _not_allowed(part, where)
    )
    yield from wrong
    if wrong:
        return
    problems = [
        problem for part, where, at in _parts(schema, path, "root", 0) for problem in _shape(part, where, at)
    ]
    yield from sorted(problems, key=str)


def _parts(schema: Object, path: str, at: str, depth: int) -> Iterator[tuple[Object, str, str]]:
    """The schema and all schemas in it, with their paths, and whether they are root, field or item."""
    yield schema, path, at
    if depth > _DEEPEST:
        return
    if isinstance(schema.get("items"), dict):
        yield from _parts(fields(schema.get("items")), f"{path}.items", "item", depth + 1)
    for name, inner in sorted(fields(schema.get("properties")).items()):
        yield from _parts(fields(inner), f"{path}.properties[{name}]", "field", depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        inner = fields(schema.get("additionalProperties"))
        yield from _parts(inner, f"{path}.additionalProperties", "field", depth + 1)


def _not_allowed(schema: Object, path: str) -> Problems:
    if schema.get("$ref") is not None:
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    if schema.get("uniqueItems") is True:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    default, known = schema.get("default"), items(schema.get("enum"))
    if isinstance(default, str) and known and default not in known:
        yield unsupported(f"{path}.default", default, (text(value) for value in known))
    yield from _list_type(schema, path)


def _list_type(schema: Object, path: str) -> Problems:
    kind, keys = schema.get(_LIST_TYPE), items(schema.get(_LIST_KEYS))
    if kind is None:
        if keys:
            detail = f"must be map if {_LIST_KEYS} is non-empty"
            yield required(f"{path}.{_LIST_TYPE}", detail)
        return
    if schema.get("type") != "array":
        detail, actual = f"must be array if {_LIST_TYPE} is specified", text(schema.get("type"))
        yield invalid(f"{path}.type", actual, detail) if actual else required(f"{path}.type", detail)
    if kind not in ("atomic", "set", "map"):
        yield unsupported(f"{path}.{_LIST_TYPE}", kind, ("atomic", "set", "map"))
    if kind != "map":
        return
    if not keys:
        yield required(f"{path}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    inner = fields(schema.get("items"))
    for key in keys:
        held = fields(inner.get("properties")).get(text(key))
        if isinstance(held, dict) and key not in items(inner.get("required")) and held.get("default") is None:
            detail = f"this property is in {_LIST_KEYS}, so it must have a default or be a required property"
            yield required(f"{path}.items.properties[{text(key)}].default", detail)


def _shape(schema: Object, path: str, at: str) -> Problems:
    kind = text(schema.get("type"))
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")
    if not kind and schema.get(_INT_OR_STRING) is not True and schema.get(_ANY_FIELDS) is not True:
        yield required(f"{path}.type", _EMPTY[at])
    if at != "root":
        return
    if kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    held = fields(schema.get("properties")).get("metadata")
    if isinstance(held, dict):
        if held.get("type") != "object":
            yield invalid(f"{path}.properties[metadata].type", text(held.get("type")), "must be object")
        told_of = fields(held.get("properties")).keys() - {"name", "generateName"}
        if told_of or held.keys() - {"type", "properties", "default", "description"}:
            yield forbidden(f"{path}.properties[metadata]", _NAMED)

"""Structural schemas of CustomResourceDefinitions: the most common errors.

Mirrors a part of `apiextensions/validation` and of `apiserver/schema`, Kubernetes 1.36: every field has a
type, lists have items, the keys of a list map are required or have a default, and metadata is not
restricted. A schema that all versions share is reported at `spec.validation`, where the server stores it
then. CEL rules and regular expressions are not compiled, and of defaults only those are checked that an
enum forbids.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.validation.field_error import Problems, forbidden, invalid, required, unsupported
from whysync.kubernetes.validation.internal_types import same_plain

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
    """The schema that all versions share, also if there is only one version."""
    schemas = [dig(version, "schema", "openAPIV3Schema") for version in versions]
    first = schemas[0] if schemas else None
    if not isinstance(first, dict) or not all(same_plain(first, schema) for schema in schemas[1:]):
        return None
    return first


def validate_schema(schema: Json | Missing, path: str) -> Problems:
    """Forbidden fields are reported first; only without them is the schema checked to be structural."""
    if not isinstance(schema, dict):
        return
    forbidden_problems = tuple(
        problem
        for subschema, subschema_path, _ in _subschemas(schema, path, "root", 0)
        for problem in _validate_forbidden_fields(subschema, subschema_path)
    )
    yield from forbidden_problems
    if forbidden_problems:
        return
    problems = [
        problem
        for subschema, subschema_path, position in _subschemas(schema, path, "root", 0)
        for problem in _validate_structural(subschema, subschema_path, position)
    ]
    yield from sorted(problems, key=str)


def _subschemas(schema: Object, path: str, position: str, depth: int) -> Iterator[tuple[Object, str, str]]:
    """The schema and all schemas in it, with their path and position: root, field or item."""
    yield schema, path, position
    if depth > _DEEPEST:
        return
    if isinstance(schema.get("items"), dict):
        yield from _subschemas(fields(schema.get("items")), f"{path}.items", "item", depth + 1)
    for name, inner in sorted(fields(schema.get("properties")).items()):
        yield from _subschemas(fields(inner), f"{path}.properties[{name}]", "field", depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        inner = fields(schema.get("additionalProperties"))
        yield from _subschemas(inner, f"{path}.additionalProperties", "field", depth + 1)


def _validate_forbidden_fields(schema: Object, path: str) -> Problems:
    if schema.get("$ref") is not None:
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    if schema.get("uniqueItems") is True:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    default, enum = schema.get("default"), items(schema.get("enum"))
    if isinstance(default, str) and enum and default not in enum:
        yield unsupported(f"{path}.default", default, (text(value) for value in enum))
    yield from _validate_list_type(schema, path)


def _validate_list_type(schema: Object, path: str) -> Problems:
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
        key_schema = fields(inner.get("properties")).get(text(key))
        if (
            isinstance(key_schema, dict)
            and key not in items(inner.get("required"))
            and key_schema.get("default") is None
        ):
            detail = f"this property is in {_LIST_KEYS}, so it must have a default or be a required property"
            yield required(f"{path}.items.properties[{text(key)}].default", detail)


def _validate_structural(schema: Object, path: str, position: str) -> Problems:
    kind = text(schema.get("type"))
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")
    if not kind and schema.get(_INT_OR_STRING) is not True and schema.get(_ANY_FIELDS) is not True:
        yield required(f"{path}.type", _EMPTY[position])
    if position != "root":
        return
    if kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    metadata_schema = fields(schema.get("properties")).get("metadata")
    if isinstance(metadata_schema, dict):
        if metadata_schema.get("type") != "object":
            yield invalid(
                f"{path}.properties[metadata].type", text(metadata_schema.get("type")), "must be object"
            )
        other_properties = fields(metadata_schema.get("properties")).keys() - {"name", "generateName"}
        if other_properties or metadata_schema.keys() - {"type", "properties", "default", "description"}:
            yield forbidden(f"{path}.properties[metadata]", _NAMED)

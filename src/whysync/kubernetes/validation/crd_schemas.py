"""Structural schemas of CustomResourceDefinitions: the most common errors.

Mirrors a part of `apiextensions/validation` and of `apiserver/schema`, Kubernetes 1.36: every field has a
type, lists have items, the keys of a list map are required or have a default, metadata is not restricted,
and `oneOf` and the like restrict only what is described outside of them. A schema that all versions share is
reported at `spec.validation`, where the server stores it then. `apiserver.crd_expressions` compiles rules and
patterns and validates defaults; those that an enum forbids are reported here.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.validation.field_error import Problems, forbidden, invalid, required, unsupported
from whysync.kubernetes.validation.internal_types import same_plain

_DEEPEST = 60
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_ANY_FIELDS, _INT_OR_STRING = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
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
    problems.extend(_validate_completeness(schema, schema, path, path, 0))
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
    inner = fields(schema.get("items"))
    if kind == "set":
        key = {"object": "x-kubernetes-map-type", "array": _LIST_TYPE}.get(text(inner.get("type")), "")
        if key and inner.get(key) != "atomic":
            given = inner.get(key)
            detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
            yield invalid(f"{path}.items.{key}", given if isinstance(given, str) else None, detail)
    if kind != "map":
        return
    if not keys:
        yield required(f"{path}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
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
    yield from _validate_combinations(schema, path, 0)
    if schema.get(_EMBEDDED) is True:
        yield from _validate_embedded(schema, path)
    elif not kind and schema.get(_INT_OR_STRING) is not True and schema.get(_ANY_FIELDS) is not True:
        yield required(f"{path}.type", _EMPTY[position])
    if schema.get(_INT_OR_STRING) is True:
        for key in (_ANY_FIELDS, _EMBEDDED):
            if schema.get(key) is True:
                detail = f"must be false if {_INT_OR_STRING} is true"
                yield invalid(f"{path}.{key}", value=True, detail=detail)
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


def _validate_embedded(schema: Object, path: str) -> Problems:
    kind, detail = text(schema.get("type")), f"must be object if {_EMBEDDED} is true"
    if not kind:
        yield required(f"{path}.type", detail)
    elif kind != "object":
        yield invalid(f"{path}.type", kind, detail)
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBEDDED} is set")
    if schema.get(_ANY_FIELDS) is not True and not fields(schema.get("properties")):
        detail = f"must not be empty if {_EMBEDDED} is true without {_ANY_FIELDS}"
        yield required(f"{path}.properties", detail)


# Schemas inside anyOf, allOf, oneOf and not: they restrict values, but do not describe the structure.


def _combined(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    for key in ("anyOf", "allOf", "oneOf"):
        for index, inner in enumerate(items(schema.get(key))):
            yield fields(inner), f"{path}.{key}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield fields(schema.get("not")), f"{path}.not"


def _validate_combinations(schema: Object, path: str, depth: int) -> Problems:
    allowed = f"{path}.anyOf" if _is_int_or_string(schema.get("anyOf")) else ""
    first = items(schema.get("allOf"))[:1]
    nested_allowed = ""
    if first and _is_int_or_string(fields(first[0]).get("anyOf")):
        nested_allowed = f"{path}.allOf[0].anyOf"
    for inner, inner_path in _combined(schema, path):
        if not (allowed and inner_path.startswith(allowed)):
            yield from _validate_nested(inner, inner_path, nested_allowed, depth + 1)


def _is_int_or_string(alternatives: Json | Missing) -> bool:
    return alternatives == [{"type": "integer"}, {"type": "string"}]


def _validate_nested(schema: Object, path: str, allowed: str, depth: int) -> Problems:
    """A schema that only restricts values. Mirrors `validateNestedValueValidation`."""
    if depth > _DEEPEST:
        return
    for inner, inner_path in _combined(schema, path):
        if not (allowed and inner_path.startswith(allowed)):
            yield from _validate_nested(inner, inner_path, "", depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from _validate_nested(fields(schema.get("items")), f"{path}.items", "", depth + 1)
    for name, inner in sorted(fields(schema.get("properties")).items()):
        yield from _validate_nested(fields(inner), f"{path}.properties[{name}]", "", depth + 1)
    for key, detail in _NOT_IN_COMBINATIONS.items():
        if schema.get(key):
            yield forbidden(f"{path}.{key}", f"{detail} to be structural")
    for key in ("additionalProperties", "default"):
        if schema.get(key) is not None:
            yield forbidden(f"{path}.{key}", "must be undefined to be structural")
    if "metadata" in fields(schema.get("properties")):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


_NOT_IN_COMBINATIONS = {
    "type": "must be empty",
    "title": "must be empty",
    "description": "must be empty",
    "nullable": "must be false",
    _ANY_FIELDS: "must be false",
    _EMBEDDED: "must be false",
    _INT_OR_STRING: "must be false",
    _LIST_KEYS: "must be empty",
    _LIST_TYPE: "must be undefined",
    "x-kubernetes-map-type": "must be undefined",
    "x-kubernetes-validations": "must be empty",
}


def _validate_completeness(
    restricting: Object, structure: Json | Missing, path: str, within: str, depth: int
) -> Problems:
    """What a combination restricts is described outside of it. Mirrors `validateStructuralCompleteness`."""
    if depth > _DEEPEST:
        return
    if not isinstance(structure, dict):
        yield required(path, f"because it is defined in {within}")
        return
    for inner, inner_path in _combined(restricting, within):
        yield from _validate_completeness(inner, structure, path, inner_path, depth + 1)
    if depth == 0:
        return
    if isinstance(restricting.get("items"), dict):
        inner, described = fields(restricting.get("items")), structure.get("items")
        yield from _validate_completeness(inner, described, f"{path}.items", f"{within}.items", depth + 1)
    for name, raw in sorted(fields(restricting.get("properties")).items()):
        described = fields(structure.get("properties")).get(name)
        key = f".properties[{name}]"
        yield from _validate_completeness(fields(raw), described, path + key, within + key, depth + 1)

"""Schemas of custom resources: that they are structural, in the mistakes that are made most.

Mirrors a part of `apiextensions/schema`, Kubernetes 1.36: every field names its type, and the root is an
object. A schema that all versions share is reported at `spec.validation`, where the server keeps it then.
"""

from __future__ import annotations

from whysync.contracts.tree import Json, Missing, Object, dig, fields, items, text
from whysync.semantics.validation.equality import same_plain
from whysync.semantics.validation.problem import Problems, forbidden, invalid, required

_DEEPEST = 60
_KINDS = ("anyOf", "allOf", "oneOf")


def shared_schema(versions: list[Object]) -> Object | None:
    """The schema of all versions, if it is the same; of one version alone, too."""
    schemas = [dig(version, "schema", "openAPIV3Schema") for version in versions]
    first = schemas[0] if schemas else None
    if not isinstance(first, dict) or not all(same_plain(first, other) for other in schemas[1:]):
        return None
    return first


def schema_problems(schema: Json | Missing, path: str) -> Problems:
    if not isinstance(schema, dict):
        return
    kind = text(schema.get("type"))
    if kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
        return
    references = tuple(_references(schema, path, 0))
    yield from references
    if references:
        return
    yield from _types(schema, path, 0)
    if not kind:
        yield required(f"{path}.type", "must not be empty at the root")


def _types(schema: Object, path: str, depth: int) -> Problems:
    if depth > _DEEPEST:
        return
    for name, item in sorted(fields(schema.get("properties")).items()):
        yield from _typed(fields(item), f"{path}.properties[{name}]", "object fields", depth)
    inner = schema.get("items")
    if isinstance(inner, dict):
        yield from _typed(inner, f"{path}.items", "array items", depth)
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        yield from _typed(values, f"{path}.additionalProperties", "object fields", depth)


def _typed(schema: Object, path: str, called: str, depth: int) -> Problems:
    yield from _types(schema, path, depth + 1)
    free = schema.get("x-kubernetes-int-or-string") is True
    free = free or schema.get("x-kubernetes-preserve-unknown-fields") is True
    if not text(schema.get("type")) and not free:
        yield required(f"{path}.type", f"must not be empty for specified {called}")


def _references(schema: Object, path: str, depth: int) -> Problems:
    if depth > _DEEPEST:
        return
    if schema.get("$ref") is not None:
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    for name, item in fields(schema.get("properties")).items():
        yield from _references(fields(item), f"{path}.properties[{name}]", depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from _references(fields(schema.get("items")), f"{path}.items", depth + 1)
    for kind in _KINDS:
        for index, item in enumerate(items(schema.get(kind))):
            yield from _references(fields(item), f"{path}.{kind}[{index}]", depth + 1)

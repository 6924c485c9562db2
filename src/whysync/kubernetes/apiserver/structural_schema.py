"""Structural schemas of custom resources: what they prune and fill in.

Mirrors apiextensions-apiserver `schema/pruning` and `schema/defaulting`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, copy, fields

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_OF_ALL: Final = frozenset({"apiVersion", "kind", "metadata"})


def pruned(value: Json, schema: Object, path: str, gone: list[str], *, root: bool = False) -> Json:
    """The value without what its schema does not name; `gone` gets the paths of that."""
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        if not inner and schema.get(_PRESERVE):
            return value
        return [pruned(item, inner, f"{path}[{at}]", gone) for at, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    properties = fields(schema.get("properties"))
    others = schema.get("additionalProperties")
    whole = root or bool(schema.get(_EMBEDDED))
    kept: Object = {}
    for key in sorted(value):
        here = f"{path}.{key}" if path else key
        if whole and key in _OF_ALL:
            kept[key] = value[key]
        elif key in properties:
            kept[key] = pruned(value[key], fields(properties[key]), here, gone)
        elif isinstance(others, dict) and others:
            kept[key] = pruned(value[key], others, here, gone)
        elif others is True or schema.get(_PRESERVE):
            kept[key] = value[key]
        else:
            gone.append(here)
    return kept


def without_nulls(value: Json, schema: Object) -> Json:
    """Nulls of a body where none may stand and no default does: they are dropped."""
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        return [without_nulls(item, inner) for item in value]
    if not isinstance(value, dict):
        return value
    properties = fields(schema.get("properties"))
    others = fields(schema.get("additionalProperties"))
    out: Object = {}
    for key, item in value.items():
        inner = fields(properties.get(key)) if key in properties else others
        if item is None and inner and not inner.get("nullable") and "default" not in inner:
            continue
        out[key] = without_nulls(item, inner) if inner else item
    return out


def filled(value: Json, schema: Object) -> Json:
    """The value with its defaults; a null where none may stand gives way to the default."""
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        return [filled(item, inner) for item in value]
    if not isinstance(value, dict):
        return value
    properties = fields(schema.get("properties"))
    others = fields(schema.get("additionalProperties"))
    out: Object = {}
    for key, item in value.items():
        inner = fields(properties.get(key)) if key in properties else others
        if item is None and key in properties and "default" in inner and not inner.get("nullable"):
            continue
        out[key] = filled(item, inner) if inner else item
    for key, raw in properties.items():
        inner = fields(raw)
        if key not in out and "default" in inner:
            out[key] = filled(copy(inner["default"]), inner)
    return out

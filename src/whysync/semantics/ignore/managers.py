"""`managedFieldsManagers`: what a trusted manager changed is no difference.

Mirrors `util/argo/managedfields` `Normalize`, Argo CD 3.6. Live and desired are compared by the schema of
their kind; of the fields that both have with different values, those that a trusted manager owns are taken
out of both. A field that only one side has is not looked at. If either side does not fit the schema (one
unknown field is enough), nothing happens at all, and nobody is told.

Without a schema, maps are entered and lists are whole, as structured-merge-diff deduces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from whysync.contracts.tree import Json, Object, fields, items, text
from whysync.semantics.jq import Path
from whysync.semantics.schemas import Field, Type, type_of

# How fieldsV1 names a step: `f:name`, `k:{…}` with sorted keys, `v:…`
Names: TypeAlias = "tuple[str, ...]"


class NotInSchema(ValueError):
    """An object that its schema does not describe, so that it cannot be compared by it."""


@dataclass(frozen=True, slots=True)
class Modified:
    """A field that both sides have with different values: its names, and its place on each side."""

    names: Names
    live: Path
    desired: Path


@dataclass(frozen=True, slots=True)
class _Shape:
    """The part of a schema that a comparison needs: a type, and how the field that holds it merges."""

    type: Type | None
    keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False


_DEDUCED = _Shape(None)


def without_trusted_changes(
    live: Object, desired: Object, managers: tuple[str, ...], *, schema: Type | None = None
) -> tuple[Object, Object]:
    """Both sides without the fields that they disagree on and that a trusted manager owns."""
    found = trusted_changes(live, desired, managers, schema=schema)
    if not found:
        return live, desired
    return (
        _as_object(_without(live, [change.live for change in found]), live),
        _as_object(_without(desired, [change.desired for change in found]), desired),
    )


def trusted_changes(
    live: Object, desired: Object, managers: tuple[str, ...], *, schema: Type | None = None
) -> tuple[Modified, ...]:
    """The fields that a rule of this kind takes out; none where the objects do not fit the schema."""
    claims = [
        fields(entry.get("fieldsV1"))
        for entry in map(fields, items(fields(live.get("metadata")).get("managedFields")))
        if text(entry.get("manager")) in managers
    ]
    if not claims:
        return ()
    try:
        changes = tuple(modified_fields(live, desired, schema=schema))
    except (NotInSchema, RecursionError):
        return ()
    return tuple(change for change in changes if any(_owns(claim, change.names) for claim in claims))


def modified_fields(live: Object, desired: Object, *, schema: Type | None = None) -> Iterator[Modified]:
    """Raises `NotInSchema`."""
    shape = _Shape(schema) if schema else _DEDUCED
    _validate(live, shape)
    _validate(desired, shape)
    yield from _compare(live, desired, shape, (), (), ())


def schema_of(obj: Object) -> Type | None:
    return type_of(text(obj.get("apiVersion")), text(obj.get("kind")))


def _compare(
    live: Json, desired: Json, shape: _Shape, names: Names, live_path: Path, desired_path: Path
) -> Iterator[Modified]:
    if live == desired and isinstance(live, bool) == isinstance(desired, bool):
        return
    if isinstance(live, dict) and isinstance(desired, dict) and _is_entered(shape):
        for key, value in live.items():
            if key in desired:
                yield from _compare(
                    value,
                    desired[key],
                    _below(shape, key),
                    (*names, f"f:{key}"),
                    (*live_path, key),
                    (*desired_path, key),
                )
    elif isinstance(live, list) and isinstance(desired, list) and (shape.keys or shape.is_set):
        here, there = _by_name(live, shape), _by_name(desired, shape)
        for name, index in here.items():
            if name in there:
                yield from _compare(
                    live[index],
                    desired[there[name]],
                    _item(shape),
                    (*names, name),
                    (*live_path, index),
                    (*desired_path, there[name]),
                )
    elif live is not None and desired is not None:
        yield Modified(names, live_path, desired_path)


def _is_entered(shape: _Shape) -> bool:
    if shape.type is None:
        return not shape.atomic
    if shape.type.kind == "struct":
        return not (shape.atomic or shape.type.struct.atomic)
    return shape.type.kind == "map" and not shape.atomic


def _below(shape: _Shape, key: str) -> _Shape:
    if shape.type is None:
        return _DEDUCED
    if shape.type.kind == "map":
        return _Shape(shape.type.of)
    return _of_field(shape.type.struct.fields[key])


def _of_field(field: Field) -> _Shape:
    return _Shape(field.type, keys=field.list_keys, is_set=field.is_set, atomic=field.atomic)


def _item(shape: _Shape) -> _Shape:
    return _DEDUCED if shape.type is None else _Shape(shape.type.of)


def _by_name(values: list[Json], shape: _Shape) -> dict[str, int]:
    """Items by how fieldsV1 names them; in a keyed list an absent key has the default of its field."""
    named: dict[str, int] = {}
    for index, value in enumerate(values):
        name = _name_of(value, shape)
        if name in named:
            raise NotInSchema(f"duplicate entries for key {name}")
        named[name] = index
    return named


def _name_of(value: Json, shape: _Shape) -> str:
    if not shape.keys:
        return f"v:{json.dumps(value, ensure_ascii=False)}"
    if not isinstance(value, dict):
        raise NotInSchema("associative list with keys may not have non-map elements")
    keys: Object = {}
    for key in shape.keys:
        if key in value:
            keys[key] = value[key]
        elif shape.type is not None and (default := _default_of(shape.type.of, key)) is not None:
            keys[key] = default
    if not keys:
        raise NotInSchema("associative list with keys has an element that omits all key fields")
    return _key_name(keys)


def _default_of(element: Type, key: str) -> Json:
    field = element.struct.fields.get(key) if element.kind == "struct" else None
    return field.default if field else None


def _key_name(keys: Object) -> str:
    return f"k:{json.dumps(keys, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"


def _owns(claim: Object, names: Names) -> bool:
    for name in names:
        below = claim.get(name)
        if below is None and name.startswith(("k:", "v:")):
            below = next((value for key, value in claim.items() if _respelled(key) == name), None)
        if below is None:
            return False
        claim = fields(below)
    return not claim or "." in claim


def _respelled(name: str) -> str:
    if not name.startswith(("k:", "v:")):
        return name
    try:
        value: Json = json.loads(name[2:])
    except (ValueError, RecursionError):
        return name
    return _key_name(value) if isinstance(value, dict) else f"v:{json.dumps(value, ensure_ascii=False)}"


def _validate(value: Json, shape: _Shape) -> None:
    """Does the value fit the schema? Absent and null values always do."""
    kind = shape.type
    if value is None or kind is None or kind.kind == "raw":
        return
    if kind.kind in ("struct", "map"):
        if not isinstance(value, dict):
            raise NotInSchema("expected map")
        for key, item in value.items():
            if kind.kind == "struct" and key not in kind.struct.fields:
                raise NotInSchema(f".{key}: field not declared in schema")
            _validate(item, _below(shape, key))
    elif kind.kind == "list":
        if not isinstance(value, list):
            raise NotInSchema("expected list")
        if shape.keys or shape.is_set:
            _by_name(value, shape)
        for item in value:
            _validate(item, _item(shape))
    elif not _is_scalar(value, kind.kind):
        raise NotInSchema(f"expected {kind.kind}")


def _is_scalar(value: Json, kind: str) -> bool:
    match kind:
        case "string" | "bytes":
            return isinstance(value, str)
        case "int" | "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case _:
            return not isinstance(value, dict | list)


def _without(value: Json, paths: list[Path]) -> Json:
    """A map or list that loses its last part becomes null, as in structured-merge-diff."""
    if () in paths:
        return None
    below: dict[str | int, list[Path]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    if isinstance(value, dict):
        kept: Object = {}
        for key, item in value.items():
            rest = below.get(key)
            if rest is None:
                kept[key] = item
            elif () not in rest:
                kept[key] = _without(item, rest)
        return kept or None
    if isinstance(value, list):
        left = [
            _without(item, below[index]) if index in below else item
            for index, item in enumerate(value)
            if () not in below.get(index, [])
        ]
        return left or None
    return value


def _as_object(value: Json, fallback: Object) -> Object:
    return value if isinstance(value, dict) else fallback

"""Take fields out of a typed value. Mirrors `TypedValue.RemoveItems`."""

from __future__ import annotations

from whysync.json_tree import Json, Object
from whysync.kubernetes.merge.structured.fieldset import FieldSet
from whysync.kubernetes.merge.structured.schema import Atom, ListType, MapType
from whysync.kubernetes.merge.structured.walk import safe_step


def remove_items(value: Json, gone: FieldSet, atom: Atom) -> Json:
    """The value without those fields; a map or list of which nothing is left becomes null."""
    form = atom.form(value)
    if form == "map" and isinstance(value, dict):
        assert atom.map is not None
        return _from_map(value, gone, atom.map) if value and not atom.map.atomic else None
    if form == "list" and isinstance(value, list):
        assert atom.list is not None
        return _from_list(value, gone, atom.list) if value and atom.list.associative else None
    return value


def _from_map(value: Object, gone: FieldSet, kind: MapType) -> Json:
    kept: Object = {}
    for key, item in value.items():
        step = f"f:{key}"
        if step in gone.members:
            continue
        below = gone.children.get(step)
        inner = kind.at(key)
        kept[key] = remove_items(item, below, inner) if below and inner is not None else item
    return kept or None


def _from_list(value: list[Json], gone: FieldSet, kind: ListType) -> Json:
    kept: list[Json] = []
    for item in value:
        step = safe_step(item, kind)
        if step in gone.members:
            continue
        below = gone.children.get(step)
        kept.append(remove_items(item, below, kind.element) if below else item)
    return kept or None

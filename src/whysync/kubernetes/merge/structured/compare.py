"""Fields that were removed, modified or added between two typed values. Mirrors `TypedValue.Compare`."""

from __future__ import annotations

from typing import Final, NamedTuple

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, same
from whysync.kubernetes.merge.structured.fieldset import FieldSet
from whysync.kubernetes.merge.structured.schema import Atom, ListType, MapType
from whysync.kubernetes.merge.structured.walk import TypeErrors, item_step

_NO_FIELDS: Final = FieldSet()


class Comparison(NamedTuple):
    """No field is in more than one of these."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


def compare(old: Json, new: Json, atom: Atom) -> Comparison:
    comparison = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare(old, new, atom, (), comparison)
    return comparison


def _compare(
    old: Json | Missing, new: Json | Missing, atom: Atom, path: tuple[str, ...], comparison: Comparison
) -> None:
    if not isinstance(old, Missing) and not isinstance(new, Missing) and same(old, new):
        return
    if isinstance(old, Missing):
        if not isinstance(new, Missing):
            comparison.added.graft(path, _all_fields(new, atom))
        return
    if isinstance(new, Missing):
        comparison.removed.graft(path, _all_fields(old, atom))
        return
    form = atom.form(new)
    descends = False
    if form == "map":
        assert atom.map is not None
        old_map, new_map = fields(old), fields(new)
        if not atom.map.atomic and (old_map or new_map):
            descends = True
            _compare_maps(old_map, new_map, atom.map, path, comparison)
    elif form == "list":
        assert atom.list is not None
        old_items, new_items = items(old), items(new)
        if atom.list.associative and (old_items or new_items):
            descends = True
            _compare_lists(old_items, new_items, atom.list, path, comparison)
    if not descends:
        comparison.modified.insert(path)


def _all_fields(value: Json, atom: Atom) -> FieldSet:
    """All fields below a value that only one side has; not to be changed."""
    if not isinstance(value, (dict, list)):
        return _NO_FIELDS
    collected = FieldSet()
    form = atom.form(value)
    if form == "map" and atom.map is not None and not atom.map.atomic:
        for key, item in fields(value).items():
            inner = atom.map.at(key)
            if inner is not None:
                _add(collected, f"f:{key}", _all_fields(item, inner))
    elif form == "list" and atom.list is not None and atom.list.associative:
        for step, same_items in _grouped(items(value), atom.list).items():
            is_unique = len(same_items) == 1
            _add(collected, step, _all_fields(same_items[0], atom.list.element) if is_unique else FieldSet())
    return collected


def _add(parent: FieldSet, step: str, child: FieldSet) -> None:
    parent.members.add(step)
    if child.members:
        parent.children[step] = child


def _compare_maps(
    old: Object, new: Object, kind: MapType, path: tuple[str, ...], comparison: Comparison
) -> None:
    for key in [*old, *(key for key in new if key not in old)]:
        inner = kind.at(key)
        if inner is not None:
            _compare(old.get(key, MISSING), new.get(key, MISSING), inner, (*path, f"f:{key}"), comparison)


def _compare_lists(
    old: list[Json], new: list[Json], kind: ListType, path: tuple[str, ...], comparison: Comparison
) -> None:
    """Compares associative lists; duplicate items are compared as one."""
    old_groups, new_groups = _grouped(old, kind), _grouped(new, kind)
    for step in [*old_groups, *(step for step in new_groups if step not in old_groups)]:
        old_items, new_items = old_groups.get(step, []), new_groups.get(step, [])
        item_path = (*path, step)
        if len(old_items) <= 1 and len(new_items) <= 1:
            old_item: Json | Missing = old_items[0] if old_items else MISSING
            new_item: Json | Missing = new_items[0] if new_items else MISSING
            _compare(old_item, new_item, kind.element, item_path, comparison)
        elif len(old_items) >= 2 and len(new_items) >= 2:
            if not same(old_items, new_items):
                comparison.modified.insert(item_path)
        elif len(old_items) >= 2:
            if new_items:
                _compare(MISSING, new_items[0], kind.element, item_path, comparison)
            comparison.removed.insert(item_path)
        else:
            if old_items:
                _compare(old_items[0], MISSING, kind.element, item_path, comparison)
            comparison.added.insert(item_path)


def _grouped(values: list[Json], kind: ListType) -> dict[str, list[Json]]:
    groups: dict[str, list[Json]] = {}
    for index, item in enumerate(values):
        try:
            groups.setdefault(item_step(item, kind), []).append(item)
        except ValueError as problem:
            raise TypeErrors([f"element {index}: {problem}"]) from None
    return groups

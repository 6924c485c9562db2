"""Merge two typed values, as an apply does: nothing is removed, the second value wins."""

from __future__ import annotations

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items
from whysync.kubernetes.merge.structured.fieldset import FieldSet, step_text
from whysync.kubernetes.merge.structured.schema import Atom, ListType, MapType
from whysync.kubernetes.merge.structured.walk import TypeErrors, item_step, safe_step


def merge(left: Json | Missing, right: Json | Missing, atom: Atom) -> Json | Missing:
    """Mirrors `TypedValue.Merge`. `MISSING` is an absent value, also as the result."""
    form = atom.form(left) if isinstance(right, Missing) else atom.form(right)
    if form == "map":
        assert atom.map is not None
        if not atom.map.atomic and (fields(left) or fields(right)):
            return _merge_maps(fields(left), fields(right), atom.map)
    elif form == "list":
        assert atom.list is not None
        if atom.list.associative and (items(left) or items(right)):
            return _merge_lists(items(left), items(right), atom.list)
    return left if isinstance(right, Missing) else right


def _merge_maps(left: Object, right: Object, kind: MapType) -> Json | Missing:
    result: Object = {}
    for key in [*left, *(key for key in right if key not in left)]:
        mine, theirs = left.get(key, MISSING), right.get(key, MISSING)
        inner = kind.at(key)
        if inner is None or isinstance(theirs, Missing):
            merged = mine if isinstance(theirs, Missing) else theirs
        else:
            merged = merge(mine, theirs, inner)
        if not isinstance(merged, Missing):
            result[key] = merged
    return result or MISSING


def _merge_lists(left: list[Json], right: list[Json], kind: ListType) -> Json | Missing:
    """Shared items in the order of the right list, with the other left items in between."""
    left_steps, mine = _indexed(left, kind, unique=False)
    right_steps, theirs = _indexed(right, kind, unique=True)
    shared = [step for step in right_steps if step in mine]
    done: set[str] = set()
    result: list[Json] = []

    def take(step: str) -> None:
        done.add(step)
        merged = merge(mine.get(step, MISSING), theirs[step], kind.element)
        if not isinstance(merged, Missing):
            result.append(merged)

    def advance(step: str) -> None:
        if shared and shared[0] == step:
            shared.pop(0)

    left_index, right_index = 0, 0
    while left_index < len(left_steps) or right_index < len(right_steps):
        if left_index < len(left_steps) and right_index < len(right_steps):
            step = left_steps[left_index]
            if step == right_steps[right_index]:
                take(step)
                advance(step)
                left_index, right_index = left_index + 1, right_index + 1
                continue
            if step in theirs and shared and shared[0] != step:
                left_index += 1
                continue
        if left_index < len(left_steps):
            step = left_steps[left_index]
            if step not in theirs:
                result.append(left[left_index])
                left_index += 1
                continue
            if step in done:
                left_index += 1
        if right_index < len(right_steps):
            step = right_steps[right_index]
            take(step)
            advance(step)
            right_index += 1
    return result or MISSING


def _indexed(
    items: list[Json], kind: ListType, *, unique: bool
) -> tuple[list[str], dict[str, Json | Missing]]:
    """Items by step. A duplicate item is not merged."""
    steps: list[str] = []
    items_by_step: dict[str, Json | Missing] = {}
    for index, item in enumerate(items):
        try:
            step = item_step(item, kind)
        except ValueError as problem:
            raise TypeErrors([f"element {index}: {problem}"]) from None
        if step in items_by_step and unique:
            raise TypeErrors([f"duplicate entries for key {step_text(step)}"])
        items_by_step[step] = None if step in items_by_step else item
        steps.append(step)
    return steps, items_by_step


def remove_items(value: Json, removed: FieldSet, atom: Atom) -> Json:
    """The value without these fields; a map or list that becomes empty is null."""
    form = atom.form(value)
    if form == "map" and isinstance(value, dict):
        assert atom.map is not None
        return _remove_from_map(value, removed, atom.map) if value and not atom.map.atomic else None
    if form == "list" and isinstance(value, list):
        assert atom.list is not None
        return _remove_from_list(value, removed, atom.list) if value and atom.list.associative else None
    return value


def _remove_from_map(value: Object, removed: FieldSet, kind: MapType) -> Json:
    remaining: Object = {}
    for key, item in value.items():
        step = f"f:{key}"
        if step in removed.members:
            continue
        removed_below = removed.children.get(step)
        inner = kind.at(key)
        remaining[key] = (
            remove_items(item, removed_below, inner) if removed_below and inner is not None else item
        )
    return remaining or None


def _remove_from_list(value: list[Json], removed: FieldSet, kind: ListType) -> Json:
    remaining: list[Json] = []
    for item in value:
        step = safe_step(item, kind)
        if step in removed.members:
            continue
        removed_below = removed.children.get(step)
        remaining.append(remove_items(item, removed_below, kind.element) if removed_below else item)
    return remaining or None

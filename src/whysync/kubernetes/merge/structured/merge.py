"""Lay one typed value over another, as an apply does: nothing is removed, the second one wins."""

from __future__ import annotations

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items
from whysync.kubernetes.merge.structured.fieldset import FieldSet, step_text
from whysync.kubernetes.merge.structured.schema import Atom, ListType, MapType
from whysync.kubernetes.merge.structured.walk import TypeErrors, item_step, safe_step


def merge(left: Json | Missing, right: Json | Missing, atom: Atom) -> Json | Missing:
    """Mirrors `TypedValue.Merge`. `MISSING` is an absent value, and the answer where nothing is left."""
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
    out: Object = {}
    for key in [*left, *(key for key in right if key not in left)]:
        mine, theirs = left.get(key, MISSING), right.get(key, MISSING)
        inner = kind.at(key)
        if inner is None or isinstance(theirs, Missing):
            merged = mine if isinstance(theirs, Missing) else theirs
        else:
            merged = merge(mine, theirs, inner)
        if not isinstance(merged, Missing):
            out[key] = merged
    return out or MISSING


def _merge_lists(left: list[Json], right: list[Json], kind: ListType) -> Json | Missing:
    """Shared items in the order of the right list, the left one's own items where they stood among them."""
    lefts, mine = _indexed(left, kind, unique=False)
    rights, theirs = _indexed(right, kind, unique=True)
    shared = [step for step in rights if step in mine]
    done: set[str] = set()
    out: list[Json] = []

    def take(step: str) -> None:
        done.add(step)
        merged = merge(mine.get(step, MISSING), theirs[step], kind.element)
        if not isinstance(merged, Missing):
            out.append(merged)

    def advance(step: str) -> None:
        if shared and shared[0] == step:
            shared.pop(0)

    at, to = 0, 0
    while at < len(lefts) or to < len(rights):
        if at < len(lefts) and to < len(rights):
            step = lefts[at]
            if step == rights[to]:
                take(step)
                advance(step)
                at, to = at + 1, to + 1
                continue
            if step in theirs and shared and shared[0] != step:
                at += 1
                continue
        if at < len(lefts):
            step = lefts[at]
            if step not in theirs:
                out.append(left[at])
                at += 1
                continue
            if step in done:
                at += 1
        if to < len(rights):
            step = rights[to]
            take(step)
            advance(step)
            to += 1
    return out or MISSING


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
    """The value without those fields; a map or list of which nothing is left becomes null."""
    form = atom.form(value)
    if form == "map" and isinstance(value, dict):
        assert atom.map is not None
        return _from_map(value, removed, atom.map) if value and not atom.map.atomic else None
    if form == "list" and isinstance(value, list):
        assert atom.list is not None
        return _from_list(value, removed, atom.list) if value and atom.list.associative else None
    return value


def _from_map(value: Object, removed: FieldSet, kind: MapType) -> Json:
    kept: Object = {}
    for key, item in value.items():
        step = f"f:{key}"
        if step in removed.members:
            continue
        below = removed.children.get(step)
        inner = kind.at(key)
        kept[key] = remove_items(item, below, inner) if below and inner is not None else item
    return kept or None


def _from_list(value: list[Json], removed: FieldSet, kind: ListType) -> Json:
    kept: list[Json] = []
    for item in value:
        step = safe_step(item, kind)
        if step in removed.members:
            continue
        below = removed.children.get(step)
        kept.append(remove_items(item, below, kind.element) if below else item)
    return kept or None

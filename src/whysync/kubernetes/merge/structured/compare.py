"""Which fields were removed, modified, added between two typed values. Mirrors `TypedValue.Compare`."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, same
from whysync.kubernetes.merge.structured.fieldset import FieldSet
from whysync.kubernetes.merge.structured.schema import Atom, ListType, MapType
from whysync.kubernetes.merge.structured.walk import TypeErrors, item_step


class Comparison(NamedTuple):
    """No field is in more than one of these."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


def compare(left: Json, right: Json, atom: Atom) -> Comparison:
    comparison = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare(left, right, atom, (), comparison)
    return comparison


def _compare(
    left: Json | Missing, right: Json | Missing, atom: Atom, path: tuple[str, ...], comparison: Comparison
) -> None:
    if not isinstance(left, Missing) and not isinstance(right, Missing) and same(left, right):
        return
    if isinstance(left, Missing):
        if not isinstance(right, Missing):
            comparison.added.graft(path, _all_of(right, atom))
        return
    if isinstance(right, Missing):
        comparison.removed.graft(path, _all_of(left, atom))
        return
    form = atom.form(right)
    descends = False
    if form == "map":
        assert atom.map is not None
        mine, theirs = fields(left), fields(right)
        if not atom.map.atomic and (mine or theirs):
            descends = True
            _compare_maps(mine, theirs, atom.map, path, comparison)
    elif form == "list":
        assert atom.list is not None
        old, new = items(left), items(right)
        if atom.list.associative and (old or new):
            descends = True
            _compare_lists(old, new, atom.list, path, comparison)
    if not descends:
        comparison.modified.insert(path)


def _all_of(value: Json, atom: Atom) -> FieldSet:
    """What there is below a value that only one side has."""
    below = FieldSet()
    form = atom.form(value)
    if form == "map" and atom.map is not None and not atom.map.atomic:
        for key, item in fields(value).items():
            inner = atom.map.at(key)
            if inner is not None:
                _put(below, f"f:{key}", _all_of(item, inner))
    elif form == "list" and atom.list is not None and atom.list.associative:
        for step, same_ones in _grouped(items(value), atom.list).items():
            once = len(same_ones) == 1
            _put(below, step, _all_of(same_ones[0], atom.list.element) if once else FieldSet())
    return below


def _put(into: FieldSet, step: str, below: FieldSet) -> None:
    into.members.add(step)
    if below.members:
        into.children[step] = below


def _compare_maps(
    left: Object, right: Object, kind: MapType, path: tuple[str, ...], comparison: Comparison
) -> None:
    for key in [*left, *(key for key in right if key not in left)]:
        inner = kind.at(key)
        if inner is not None:
            _compare(left.get(key, MISSING), right.get(key, MISSING), inner, (*path, f"f:{key}"), comparison)


def _compare_lists(
    left: list[Json], right: list[Json], kind: ListType, path: tuple[str, ...], comparison: Comparison
) -> None:
    """Compares associative lists; duplicate items are compared as one."""
    olds, news = _grouped(left, kind), _grouped(right, kind)
    for step in [*olds, *(step for step in news if step not in olds)]:
        before, after = olds.get(step, []), news.get(step, [])
        here = (*path, step)
        if len(before) <= 1 and len(after) <= 1:
            mine: Json | Missing = before[0] if before else MISSING
            theirs: Json | Missing = after[0] if after else MISSING
            _compare(mine, theirs, kind.element, here, comparison)
        elif len(before) >= 2 and len(after) >= 2:
            if not same(before, after):
                comparison.modified.insert(here)
        elif len(before) >= 2:
            if after:
                _compare(MISSING, after[0], kind.element, here, comparison)
            comparison.removed.insert(here)
        else:
            if before:
                _compare(before[0], MISSING, kind.element, here, comparison)
            comparison.added.insert(here)


def _grouped(values: list[Json], kind: ListType) -> dict[str, list[Json]]:
    groups: dict[str, list[Json]] = {}
    for index, item in enumerate(values):
        try:
            groups.setdefault(item_step(item, kind), []).append(item)
        except ValueError as problem:
            raise TypeErrors([f"element {index}: {problem}"]) from None
    return groups

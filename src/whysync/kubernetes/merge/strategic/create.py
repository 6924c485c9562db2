"""Make the patch that leads from one object to another."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Json, Object, same
from whysync.kubernetes.merge.strategic.apply import combine_patches
from whysync.kubernetes.merge.strategic.meta import (
    DELETE_FROM,
    ELEMENT_ORDER,
    PATCH,
    RETAIN_KEYS,
    BadPatch,
    delete_order,
    first_positions,
    holds_maps,
    identity,
    in_order,
    key_of,
    look_up,
    look_up_list,
    written,
)
from whysync.kubernetes.schema import Field, Type


class _Wanted(NamedTuple):
    changes: bool
    deletions: bool
    retain_keys: bool = False


def three_way_patch(last_applied: Object, modified: Object, current: Object, schema: Type) -> Object:
    """What brings `current` to `modified`, and takes away what `last_applied` had and `modified` has not.

    Mirrors `CreateThreeWayMergePatch` with `overwrite`, which is how kubectl and Argo CD call it.
    """
    delta = _diff_maps(current, modified, schema, _Wanted(changes=True, deletions=False))
    removed = deletions(last_applied, modified, schema)
    return combine_patches(removed, delta, schema) if removed else delta


def deletions(last_applied: Object, modified: Object, schema: Type) -> Object:
    if same(last_applied, modified):
        return {}
    return _diff_maps(last_applied, modified, schema, _Wanted(changes=False, deletions=True))


def _diff_maps(original: Object, modified: Object, schema: Type, wanted: _Wanted) -> Object:
    patch: Object = {}
    for key, new in modified.items():
        if key not in original:
            if wanted.changes:
                patch[key] = new
            continue
        old = original[key]
        if key == PATCH:
            if old != new:
                patch[PATCH] = new
        elif isinstance(old, dict) and isinstance(new, dict):
            if not same(old, new):
                _diff_map_field(key, old, new, patch, schema, wanted)
        elif isinstance(old, list) and isinstance(new, list):
            if not same(old, new):
                _diff_list_field(key, old, new, patch, schema, wanted)
        elif wanted.changes and not same(old, new):
            patch[key] = new
    if wanted.deletions:
        for key in original:
            if key not in modified:
                patch[key] = None
    if wanted.retain_keys:
        _retain_keys(original, modified, patch)
    return patch


def _retain_keys(original: Object, modified: Object, patch: Object) -> None:
    """Only one field of a union may be set: lists the retained keys when one of them changes."""
    kept: list[Json] = [key for key in sorted(modified) if modified[key] is not None]
    leaves_some = any(value is not None and key not in modified for key, value in original.items())
    if kept and (patch or leaves_some):
        patch[RETAIN_KEYS] = kept


def _diff_map_field(key: str, old: Object, new: Object, patch: Object, schema: Type, wanted: _Wanted) -> None:
    field = look_up(schema, key)
    if field.replaces:
        if wanted.changes:
            patch[key] = new
        return
    inner = _diff_maps(old, new, field.type, wanted._replace(retain_keys=field.retain_keys))
    if inner:
        patch[key] = inner


def _diff_list_field(
    key: str, old: list[Json], new: list[Json], patch: Object, schema: Type, wanted: _Wanted
) -> None:
    field, element = look_up_list(schema, key)
    if not field.merges:
        if wanted.changes:
            patch[key] = new
        return
    if not old:
        if new and wanted.changes:
            patch[key] = new
        return
    wanted = wanted._replace(retain_keys=field.retain_keys)
    if holds_maps(old, new):
        _diff_keyed_list(field, element, old, new, patch, wanted)
    else:
        _diff_scalar_list(key, old, new, patch, wanted)


def _diff_keyed_list(
    field: Field, element: Type, old: list[Json], new: list[Json], patch: Object, wanted: _Wanted
) -> None:
    merge_key = field.merge_key
    changed, removed = _diff_items(merge_key, element, old, new, wanted)
    name = identity(merge_key)
    changed = in_order(changed, new, name) + removed
    reordered = len(old) != len(new) or any(name(a) != name(b) for a, b in zip(old, new, strict=True))
    if changed:
        patch[field.name] = changed
    if (wanted.changes and (changed or reordered)) or (wanted.deletions and changed):
        order: list[Json] = [{merge_key: key_of(item, merge_key)} for item in new]
        if order:
            patch[f"{ELEMENT_ORDER}/{field.name}"] = order


def _diff_items(
    merge_key: str, element: Type, old: list[Json], new: list[Json], wanted: _Wanted
) -> tuple[list[Json], list[Json]]:
    """Walk both lists by key. Keys may repeat (a port with TCP and UDP): then they are paired in order."""
    olds = sorted(old, key=lambda item: written(key_of(item, merge_key)))
    news = sorted(new, key=lambda item: written(key_of(item, merge_key)))
    changed: list[Json] = []
    removed: list[Json] = []
    left, right = 0, 0
    while left < len(olds) or right < len(news):
        here = written(key_of(olds[left], merge_key)) if left < len(olds) else None
        there = written(key_of(news[right], merge_key)) if right < len(news) else None
        if here is not None and here == there:
            before, after = olds[left], news[right]
            assert isinstance(before, dict)
            assert isinstance(after, dict)
            inner = _diff_maps(before, after, element, wanted) if not same(before, after) else {}
            if inner:
                inner[merge_key] = after[merge_key]
                changed.append(inner)
            left, right = left + 1, right + 1
        elif here is None or (there is not None and here > there):
            if wanted.changes:
                changed.append(news[right])
            right += 1
        else:
            if wanted.deletions:
                removed.append(delete_order(merge_key, key_of(olds[left], merge_key)))
            left += 1
    return changed, removed


def _diff_scalar_list(key: str, old: list[Json], new: list[Json], patch: Object, wanted: _Wanted) -> None:
    if any(isinstance(item, (dict, list)) for item in (*old, *new)):
        raise BadPatch("lists of lists are not supported")
    had, has = first_positions(old, identity("")), first_positions(new, identity(""))
    added = [item for item in new if written(item) not in had] if wanted.changes else []
    gone = [old[at] for value, at in sorted(had.items()) if value not in has] if wanted.deletions else []
    if added:
        patch[key] = added
    if gone:
        patch[f"{DELETE_FROM}/{key}"] = gone
    if new and (gone or (wanted.changes and not same(old, new))):
        patch[f"{ELEMENT_ORDER}/{key}"] = list(new)

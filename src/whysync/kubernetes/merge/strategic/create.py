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


class _DiffOptions(NamedTuple):
    changes: bool
    deletions: bool
    retain_keys: bool = False


def three_way_patch(last_applied: Object, modified: Object, current: Object, schema: Type) -> Object:
    """What brings `current` to `modified`, and takes away what `last_applied` had and `modified` has not.

    Mirrors `CreateThreeWayMergePatch` with `overwrite`, which is how kubectl and Argo CD call it.
    """
    delta = _diff_maps(current, modified, schema, _DiffOptions(changes=True, deletions=False))
    removed = deletions(last_applied, modified, schema)
    return combine_patches(removed, delta, schema) if removed else delta


def deletions(last_applied: Object, modified: Object, schema: Type) -> Object:
    if same(last_applied, modified):
        return {}
    return _diff_maps(last_applied, modified, schema, _DiffOptions(changes=False, deletions=True))


def _diff_maps(original: Object, modified: Object, schema: Type, options: _DiffOptions) -> Object:
    patch: Object = {}
    for key, new in modified.items():
        if key not in original:
            if options.changes:
                patch[key] = new
            continue
        old = original[key]
        if key == PATCH:
            if old != new:
                patch[PATCH] = new
        elif isinstance(old, dict) and isinstance(new, dict):
            if not same(old, new):
                _diff_map_field(key, old, new, patch, schema, options)
        elif isinstance(old, list) and isinstance(new, list):
            if not same(old, new):
                _diff_list_field(key, old, new, patch, schema, options)
        elif options.changes and not same(old, new):
            patch[key] = new
    if options.deletions:
        for key in original:
            if key not in modified:
                patch[key] = None
    if options.retain_keys:
        _retain_keys(original, modified, patch)
    return patch


def _retain_keys(original: Object, modified: Object, patch: Object) -> None:
    """Only one field of a union may be set: lists the retained keys when one of them changes."""
    retained: list[Json] = [key for key in sorted(modified) if modified[key] is not None]
    leaves_some = any(value is not None and key not in modified for key, value in original.items())
    if retained and (patch or leaves_some):
        patch[RETAIN_KEYS] = retained


def _diff_map_field(
    key: str, old: Object, new: Object, patch: Object, schema: Type, options: _DiffOptions
) -> None:
    field = look_up(schema, key)
    if field.replaces:
        if options.changes:
            patch[key] = new
        return
    inner = _diff_maps(old, new, field.type, options._replace(retain_keys=field.retain_keys))
    if inner:
        patch[key] = inner


def _diff_list_field(
    key: str, old: list[Json], new: list[Json], patch: Object, schema: Type, options: _DiffOptions
) -> None:
    field, element = look_up_list(schema, key)
    if not field.merges:
        if options.changes:
            patch[key] = new
        return
    if not old:
        if new and options.changes:
            patch[key] = new
        return
    options = options._replace(retain_keys=field.retain_keys)
    if holds_maps(old, new):
        _diff_keyed_list(field, element, old, new, patch, options)
    else:
        _diff_scalar_list(key, old, new, patch, options)


def _diff_keyed_list(
    field: Field, element: Type, old: list[Json], new: list[Json], patch: Object, options: _DiffOptions
) -> None:
    merge_key = field.merge_key
    changed, removed = _diff_items(merge_key, element, old, new, options)
    name = identity(merge_key)
    changed = in_order(changed, new, name) + removed
    reordered = len(old) != len(new) or any(name(a) != name(b) for a, b in zip(old, new, strict=True))
    if changed:
        patch[field.name] = changed
    if (options.changes and (changed or reordered)) or (options.deletions and changed):
        order: list[Json] = [{merge_key: key_of(item, merge_key)} for item in new]
        if order:
            patch[f"{ELEMENT_ORDER}/{field.name}"] = order


def _diff_items(
    merge_key: str, element: Type, old: list[Json], new: list[Json], options: _DiffOptions
) -> tuple[list[Json], list[Json]]:
    """Walk both lists by key. Keys may repeat (a port with TCP and UDP): then they are paired in order."""
    olds = sorted(old, key=lambda item: written(key_of(item, merge_key)))
    news = sorted(new, key=lambda item: written(key_of(item, merge_key)))
    changed: list[Json] = []
    removed: list[Json] = []
    left, right = 0, 0
    while left < len(olds) or right < len(news):
        old_key = written(key_of(olds[left], merge_key)) if left < len(olds) else None
        new_key = written(key_of(news[right], merge_key)) if right < len(news) else None
        if old_key is not None and old_key == new_key:
            before, after = olds[left], news[right]
            assert isinstance(before, dict)
            assert isinstance(after, dict)
            inner = _diff_maps(before, after, element, options) if not same(before, after) else {}
            if inner:
                inner[merge_key] = after[merge_key]
                changed.append(inner)
            left, right = left + 1, right + 1
        elif old_key is None or (new_key is not None and old_key > new_key):
            if options.changes:
                changed.append(news[right])
            right += 1
        else:
            if options.deletions:
                removed.append(delete_order(merge_key, key_of(olds[left], merge_key)))
            left += 1
    return changed, removed


def _diff_scalar_list(
    key: str, old: list[Json], new: list[Json], patch: Object, options: _DiffOptions
) -> None:
    if any(isinstance(item, (dict, list)) for item in (*old, *new)):
        raise BadPatch("lists of lists are not supported")
    had, has = first_positions(old, identity("")), first_positions(new, identity(""))
    added = [item for item in new if written(item) not in had] if options.changes else []
    deleted = [old[at] for value, at in sorted(had.items()) if value not in has] if options.deletions else []
    if added:
        patch[key] = added
    if deleted:
        patch[f"{DELETE_FROM}/{key}"] = deleted
    if new and (deleted or (options.changes and not same(old, new))):
        patch[f"{ELEMENT_ORDER}/{key}"] = list(new)

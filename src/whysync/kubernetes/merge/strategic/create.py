"""Create the patch from one object to another."""

from __future__ import annotations

from typing import NamedTuple

from whysync.golang.sort import go_sorted
from whysync.json_tree import Json, Object, same
from whysync.kubernetes.merge.strategic.apply import combine_patches
from whysync.kubernetes.merge.strategic.meta import (
    DELETE_FROM,
    ELEMENT_ORDER,
    PATCH,
    RETAIN_KEYS,
    BadPatch,
    are_lists_of_maps,
    delete_directive,
    first_positions,
    go_key_text,
    identity,
    in_order,
    key_of,
    look_up,
    look_up_list,
)
from whysync.kubernetes.schema import Field, Type


class _DiffOptions(NamedTuple):
    changes: bool
    deletions: bool
    retain_keys: bool = False


def three_way_patch(last_applied: Object, modified: Object, current: Object, schema: Type) -> Object:
    """The patch from `current` to `modified` that also removes what only `last_applied` has.

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
    if are_lists_of_maps(old, new):
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
    """Walk both lists by key. Items with the same key (a port with TCP and UDP) are paired in their order."""
    old_items, new_items = _by_key(old, merge_key), _by_key(new, merge_key)
    changed: list[Json] = []
    removed: list[Json] = []
    old_index, new_index = 0, 0
    while old_index < len(old_items) or new_index < len(new_items):
        old_key = go_key_text(key_of(old_items[old_index], merge_key)) if old_index < len(old_items) else None
        new_key = go_key_text(key_of(new_items[new_index], merge_key)) if new_index < len(new_items) else None
        if old_key is not None and old_key == new_key:
            old_item, new_item = old_items[old_index], new_items[new_index]
            assert isinstance(old_item, dict)
            assert isinstance(new_item, dict)
            inner = _diff_maps(old_item, new_item, element, options) if not same(old_item, new_item) else {}
            if inner:
                inner[merge_key] = new_item[merge_key]
                changed.append(inner)
            old_index, new_index = old_index + 1, new_index + 1
        elif old_key is None or (new_key is not None and old_key > new_key):
            if options.changes:
                changed.append(new_items[new_index])
            new_index += 1
        else:
            if options.deletions:
                removed.append(delete_directive(merge_key, key_of(old_items[old_index], merge_key)))
            old_index += 1
    return changed, removed


def _by_key(items: list[Json], merge_key: str) -> list[Json]:
    """Sorted by key, as `sortMapsBasedOnField` does it.

    Its `Less` is also true for equal keys, so a short list has items with the same key in reverse order. The
    last one in the patch wins when the patch is applied: of two volume mounts with the same path, the first.
    """
    keyed = [(go_key_text(key_of(item, merge_key)), item) for item in items]
    if len({key for key, _ in keyed}) == len(keyed):
        return [item for _, item in sorted(keyed, key=lambda entry: entry[0])]
    return [item for _, item in go_sorted(keyed, lambda a, b: a[0] <= b[0])]


def _diff_scalar_list(
    key: str, old: list[Json], new: list[Json], patch: Object, options: _DiffOptions
) -> None:
    if any(isinstance(item, (dict, list)) for item in (*old, *new)):
        raise BadPatch("lists of lists are not supported")
    old_positions, new_positions = first_positions(old, identity("")), first_positions(new, identity(""))
    added = [item for item in new if go_key_text(item) not in old_positions] if options.changes else []
    deleted = (
        [old[index] for value, index in sorted(old_positions.items()) if value not in new_positions]
        if options.deletions
        else []
    )
    if added:
        patch[key] = added
    if deleted:
        patch[f"{DELETE_FROM}/{key}"] = deleted
    if new and (deleted or (options.changes and not same(old, new))):
        patch[f"{ELEMENT_ORDER}/{key}"] = list(new)

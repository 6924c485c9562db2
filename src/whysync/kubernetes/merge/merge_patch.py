"""JSON merge patches (RFC 7386), with which custom resources are compared: lists are taken whole.

Mirrors apimachinery `jsonmergepatch` and gitops-engine `utils/json`, Argo CD 3.6.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, same


def three_way_merge_patch(last_applied: Object, modified: Object, current: Object) -> Object:
    """What brings `current` to `modified` and removes what `last_applied` had besides."""
    changes = _additions(_difference(current, modified))
    if last_applied is modified:
        return changes
    return _combined(_only_nulls(_difference(last_applied, modified)), changes)


def merge_patch(original: Object, patch: Object) -> Object:
    """The patched object; parts that the patch does not touch are shared with the original."""
    merged = dict(original)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(old, dict) and isinstance(value, dict):
            merged[key] = merge_patch(old, value)
        else:
            merged[key] = without_nulls(value)
    return merged


def trimmed_map(shape: Object, value: Object) -> Object:
    """`value` without the keys that `shape` lacks: what others added does not count as a difference.

    Mirrors `RemoveMapFields`: lists are matched by index, and items behind the end of the shape's list stay.
    """
    return {key: _trimmed(shape[key], value[key]) for key in shape if key in value}


def trimmed_list(shape: list[Json], value: list[Json]) -> list[Json]:
    kept = [_trimmed(left, right) for left, right in zip(shape, value, strict=False)]
    return kept + value[len(kept) :]


def _trimmed(shape: Json, value: Json) -> Json:
    if isinstance(shape, dict) and isinstance(value, dict):
        return trimmed_map(shape, value)
    if isinstance(shape, list) and isinstance(value, list):
        return trimmed_list(shape, value)
    return value


def without_nulls(value: Json) -> Json:
    """A new value as it is stored: nulls in maps are left out."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _difference(original: Object, modified: Object) -> Object:
    patch: Object = {}
    for key, new in modified.items():
        if key not in original:
            patch[key] = new
            continue
        old = original[key]
        if isinstance(old, dict) and isinstance(new, dict):
            inner = _difference(old, new) if not same(old, new) else None
            if inner:
                patch[key] = inner
        elif not same(old, new):
            patch[key] = new
    for key in original:
        if key not in modified:
            patch[key] = None
    return patch


def _additions(patch: Object) -> Object:
    """Additions and changes only. A map written empty is a value; one that becomes empty is no change."""
    kept: Object = {}
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            inner = _additions(value)
            if inner:
                kept[key] = inner
        elif value is not None:
            kept[key] = value
    return kept


def _only_nulls(patch: Object) -> Object:
    kept: Object = {}
    for key, value in patch.items():
        if value is None:
            kept[key] = None
        elif isinstance(value, dict):
            inner = _only_nulls(value)
            if inner:
                kept[key] = inner
    return kept


def _combined(first: Object, second: Object) -> Object:
    merged = dict(first)
    for key, value in second.items():
        old = merged.get(key)
        merged[key] = _combined(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged

"""JSON merge patches (RFC 7386), with which custom resources are compared: lists are replaced.

Mirrors apimachinery `jsonmergepatch` and gitops-engine `utils/json`, Argo CD 3.6.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, same


def three_way_merge_patch(last_applied: Object, modified: Object, current: Object) -> Object:
    """The patch from `current` to `modified` that also removes what only `last_applied` has."""
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
    """`value` without the keys that `shape` lacks, so that fields added by others are no difference.

    Mirrors `RemoveMapFields`: lists are matched by index, and items behind the end of the shape's list stay.
    """
    return {key: _trimmed(shape[key], value[key]) for key in shape if key in value}


def trimmed_list(shape: list[Json], value: list[Json]) -> list[Json]:
    trimmed = [_trimmed(shape_item, item) for shape_item, item in zip(shape, value, strict=False)]
    return trimmed + value[len(trimmed) :]


def _trimmed(shape: Json, value: Json) -> Json:
    if isinstance(shape, dict) and isinstance(value, dict):
        return trimmed_map(shape, value)
    if isinstance(shape, list) and isinstance(value, list):
        return trimmed_list(shape, value)
    return value


def without_nulls(value: Json) -> Json:
    """The value without the nulls in its maps."""
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
    """Additions and changes only. A map that was empty in the patch is kept."""
    additions: Object = {}
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            inner = _additions(value)
            if inner:
                additions[key] = inner
        elif value is not None:
            additions[key] = value
    return additions


def _only_nulls(patch: Object) -> Object:
    nulls: Object = {}
    for key, value in patch.items():
        if value is None:
            nulls[key] = None
        elif isinstance(value, dict):
            inner = _only_nulls(value)
            if inner:
                nulls[key] = inner
    return nulls


def _combined(first: Object, second: Object) -> Object:
    merged = dict(first)
    for key, value in second.items():
        old = merged.get(key)
        merged[key] = _combined(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged

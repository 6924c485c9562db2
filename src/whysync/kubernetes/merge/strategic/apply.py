"""Apply a patch to an object, or merge two patches. Arguments are not changed."""

from __future__ import annotations

from typing import NamedTuple

from whysync.golang.fmt import go_text
from whysync.json_tree import Json, Object
from whysync.kubernetes.merge.merge_patch import without_nulls
from whysync.kubernetes.merge.strategic.meta import (
    DELETE_FROM,
    ELEMENT_ORDER,
    PATCH,
    RETAIN_KEYS,
    BadPatch,
    are_lists_of_maps,
    first_positions,
    go_key_text,
    identity,
    in_order,
    interleave,
    key_of,
    look_up,
    look_up_list,
    without_directives,
)
from whysync.kubernetes.schema import Field, Type


class _Mode(NamedTuple):
    """`patches`: both sides are patches, so directives and nulls are kept instead of applied."""

    patches: bool


def apply_patch(original: Object, patch: Object, schema: Type) -> Object:
    """The patched object. Mirrors `StrategicMergeMapPatch`."""
    return _merge_maps(original, patch, schema, _Mode(patches=False)) if patch else original


def combine_patches(first: Object, second: Object, schema: Type) -> Object:
    """One patch with the effect of the two, one after the other."""
    return _merge_maps(first, second, schema, _Mode(patches=True))


def _merge_maps(original: Object, patch: Object, schema: Type, mode: _Mode) -> Object:
    directive = patch.get(PATCH)
    if directive is not None:
        return _apply_map_directive(directive, patch)
    merged, rest = dict(original), dict(patch)
    _retain_keys(merged, rest, mode)
    _merge_ordered_lists(merged, rest, schema, mode)
    for key, value in rest.items():
        if key.startswith(DELETE_FROM):
            if mode.patches:
                merged[key] = value
            else:
                _delete_scalars(merged, _list_name(key, DELETE_FROM), value)
            continue
        _merge_field(merged, key, value, schema, mode)
    return merged


def _apply_map_directive(directive: Json, patch: Object) -> Object:
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == "delete":
        return {}
    raise BadPatch(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _merge_field(merged: Object, key: str, value: Json, schema: Type, mode: _Mode) -> None:
    if value is None:
        merged.pop(key, None)
        if mode.patches:
            merged[key] = None
        return
    old = merged.get(key)
    if isinstance(old, dict) and isinstance(value, dict):
        field = look_up(schema, key)
        merged[key] = value if field.replaces else _merge_maps(old, value, field.type, mode)
    elif isinstance(old, list) and isinstance(value, list):
        field, element = look_up_list(schema, key)
        merged[key] = _merge_lists(old, value, field, element, mode) if field.merges else value
    elif isinstance(value, dict) and PATCH in value:
        merged.pop(key, None)
    else:
        new = without_directives(value)
        merged[key] = new if mode.patches else without_nulls(new)


def _retain_keys(merged: Object, rest: Object, mode: _Mode) -> None:
    if RETAIN_KEYS not in rest:
        return
    keep = rest.pop(RETAIN_KEYS)
    if mode.patches:
        if merged.setdefault(RETAIN_KEYS, keep) != keep:
            raise BadPatch(
                f"{go_text(merged[RETAIN_KEYS])} and {go_text(keep)} are not deep equal: "
                "this may happen when calculating the 3-way diff patch"
            )
        return
    if not isinstance(keep, list):
        raise BadPatch("invalid patch format of retainKeys")
    for key, value in rest.items():
        if value is not None and not key.startswith((DELETE_FROM, ELEMENT_ORDER)) and key not in keep:
            raise BadPatch("invalid patch format of retainKeys")
    for key in [key for key in merged if key not in keep]:
        del merged[key]


def _merge_ordered_lists(merged: Object, rest: Object, schema: Type, mode: _Mode) -> None:
    """Lists with `$setElementOrder`: their items in that order, with the server's other items among them."""
    for order_key in [key for key in rest if key.startswith(ELEMENT_ORDER)]:
        order = rest.pop(order_key)
        if mode.patches and merged.setdefault(order_key, order) != order:
            raise BadPatch("invalid patch format of setElementOrder list")
        key = _list_name(order_key, ELEMENT_ORDER)
        old, new = merged.get(key), rest.get(key)
        if not isinstance(order, list) or not _list_or_absent(old) or not _list_or_absent(new):
            raise BadPatch("invalid patch format of setElementOrder list")
        field, element = look_up_list(schema, key)
        if isinstance(new, list):
            _check_order(new, order, field)
        if isinstance(old, list) and isinstance(new, list):
            combined = _merge_lists(old, new, field, element, mode) if field.merges else new
        elif isinstance(new, list):
            combined = [item for item in new if not (isinstance(item, dict) and PATCH in item)]
            combined = [without_directives(item) for item in combined]
        elif isinstance(old, list):
            combined = old
        else:
            continue
        rest.pop(key, None)
        if combined:
            merged[key] = _ordered(combined, order, old if isinstance(old, list) else [], field)
        else:
            merged[key] = combined


def _list_or_absent(value: Json) -> bool:
    return value is None or isinstance(value, list)


def _check_order(items: list[Json], order: list[Json], field: Field) -> None:
    """Checks that the items of the patch are in its `$setElementOrder`, in that order."""
    identity_of = identity(field.merge_key)
    plain = [item for item in items if not (isinstance(item, dict) and PATCH in item)]
    order_keys = [go_key_text(identity_of(item)) for item in order]
    if not order_keys or not plain:
        return
    index = 0
    for name in order_keys:
        if index < len(plain) and go_key_text(identity_of(plain[index])) == name:
            index += 1
    if index < len(plain):
        raise BadPatch(
            f"The order in patch list:\n{go_text(items)}\n"
            f" doesn't match $setElementOrder list:\n{go_text(order)}\n"
        )


def _ordered(items: list[Json], order: list[Json], server: list[Json], field: Field) -> list[Json]:
    identity_of = identity(field.merge_key)
    position = first_positions(order, identity_of)
    listed = [item for item in items if go_key_text(identity_of(item)) in position]
    others = [item for item in items if go_key_text(identity_of(item)) not in position]
    return interleave(
        in_order(listed, order, identity_of), in_order(others, server, identity_of), server, identity_of
    )


def _merge_lists(old: list[Json], new: list[Json], field: Field, element: Type, mode: _Mode) -> list[Json]:
    if not old and not new:
        return old
    if not are_lists_of_maps(old, new):
        combined = list(dict.fromkeys([*old, *new]))  # pyright: ignore[reportArgumentType]  # scalars only
        return _ordered(combined, new, old, field)
    key = field.merge_key
    if not key:
        raise BadPatch("cannot merge lists without merge key for slice")
    if any(isinstance(item, dict) and item.get(PATCH) == "replace" for item in new):
        return [item for item in new if not (isinstance(item, dict) and PATCH in item)]
    merged = list(old)
    plain: list[Json] = []
    for item in new:
        assert isinstance(item, dict)
        order = item.get(PATCH)
        if order is None:
            plain.append(item)
        elif order == "delete":
            deleted_key = key_of(item, key)
            if mode.patches:
                merged = [entry for entry in merged if key_of(entry, key) != deleted_key] + [item]
            else:
                merged = [entry for entry in merged if key_of(entry, key) != deleted_key]
        else:
            raise BadPatch(f"unknown patch type: {go_text(order)} in map: {go_text(item)}")
    for item in plain:
        assert isinstance(item, dict)
        index = next(
            (i for i, existing in enumerate(merged) if key_of(existing, key) == key_of(item, key)), None
        )
        if index is None:
            merged.append(item)
            continue
        existing_item = merged[index]
        assert isinstance(existing_item, dict)
        merged[index] = _merge_maps(existing_item, item, element, mode)
    return _ordered(merged, plain, old, field) if merged else merged


def _delete_scalars(merged: Object, key: str, deleted: Json) -> None:
    old = merged.get(key)
    if isinstance(old, list) and isinstance(deleted, list):
        merged[key] = [item for item in old if item not in deleted]


def _list_name(key: str, prefix: str) -> str:
    name = key.removeprefix(f"{prefix}/")
    if name == key:
        raise BadPatch(f"fail to find unknown prefix {prefix!r} in {key}")
    return name

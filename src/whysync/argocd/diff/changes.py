"""Field changes between the live object and the predicted live object."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from whysync.json_tree import MISSING, Json, Missing, Object, same
from whysync.kubernetes.api.pointer import child, index_of, split
from whysync.kubernetes.schema import Field, Type


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """One field that an apply would change.

    `pointer` uses the list indexes of the live object, or of the prediction for an item that the live object
    lacks. `path` is readable: it names items of keyed lists, as in `spec.containers[name=app].image`.
    """

    pointer: str
    path: str
    desired: Json | Missing
    live: Json | Missing

    @property
    def kind(self) -> ChangeKind:
        if isinstance(self.live, Missing):
            return ChangeKind.ADDED
        return ChangeKind.REMOVED if isinstance(self.desired, Missing) else ChangeKind.CHANGED


def changes_between(live: Object, predicted: Object, kind: Type | None = None) -> tuple[FieldChange, ...]:
    """All differences, sorted by where they are."""
    return tuple(
        sorted(_in_maps(live, predicted, kind, "", ""), key=lambda change: _sort_key(change.pointer))
    )


def _sort_key(pointer: str) -> tuple[tuple[int, str], ...]:
    """Sort key: list indexes numerically, then by text."""
    tokens = split(pointer)
    return tuple((-1 if (index := index_of(token)) is None else index, token) for token in tokens)


def _in_maps(live: Object, predicted: Object, kind: Type | None, at: str, path: str) -> Iterator[FieldChange]:
    struct = kind.struct if kind is not None and kind.kind == "struct" else None
    for key in live.keys() | predicted.keys():
        field = struct.fields.get(key) if struct is not None else None
        inner = field.type if field is not None else None
        if inner is None and kind is not None and kind.kind == "map":
            inner = kind.of
        old, new = live.get(key, MISSING), predicted.get(key, MISSING)
        yield from _in_values(old, new, inner, field, child(at, key), _labelled(path, key))


def _labelled(path: str, key: str) -> str:
    if "." in key or "/" in key or "[" in key:
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _in_values(
    old: Json | Missing, new: Json | Missing, kind: Type | None, field: Field | None, at: str, path: str
) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        if not same(old, new):
            yield from _in_maps(old, new, kind, at, path)
    elif isinstance(old, list) and isinstance(new, list):
        if not same(old, new):
            yield from _in_lists(old, new, kind, field, at, path)
    elif not same(old, new):
        yield FieldChange(pointer=at, path=path, desired=new, live=old)


def _in_lists(
    old: list[Json], new: list[Json], kind: Type | None, field: Field | None, at: str, path: str
) -> Iterator[FieldChange]:
    element = kind.of if kind is not None and kind.kind == "list" else None
    keys = _keys(field)
    old_indexes, new_indexes = _names(old, keys), _names(new, keys)
    if old_indexes is None or new_indexes is None:
        yield from _by_index(old, new, element, at, path)
        return
    if [name for name in old_indexes if name in new_indexes] != [
        name for name in new_indexes if name in old_indexes
    ]:
        yield FieldChange(pointer=at, path=path, desired=new, live=old)
        return
    for name, index in old_indexes.items():
        pointer, label = child(at, index), f"{path}[{name}]"
        new_index = new_indexes.get(name)
        item: Json | Missing = MISSING if new_index is None else new[new_index]
        yield from _in_values(old[index], item, element, None, pointer, label)
    for name, index in new_indexes.items():
        if name not in old_indexes:
            yield FieldChange(
                pointer=child(at, index), path=f"{path}[{name}]", desired=new[index], live=MISSING
            )


def _by_index(
    old: list[Json], new: list[Json], element: Type | None, at: str, path: str
) -> Iterator[FieldChange]:
    for index in range(max(len(old), len(new))):
        old_item: Json | Missing = old[index] if index < len(old) else MISSING
        right: Json | Missing = new[index] if index < len(new) else MISSING
        yield from _in_values(old_item, right, element, None, child(at, index), f"{path}[{index}]")


def _keys(field: Field | None) -> tuple[str, ...]:
    if field is None:
        return ()
    return field.list_keys or ((field.merge_key,) if field.merge_key else ())


def _names(items: list[Json], keys: tuple[str, ...]) -> dict[str, int] | None:
    """Items by name; `None` if a name is missing or repeated."""
    if not keys:
        return None
    positions: dict[str, int] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not any(key in item for key in keys):
            return None
        name = ",".join(f"{key}={item[key]}" for key in keys if key in item)
        if name in positions:
            return None
        positions[name] = index
    return positions

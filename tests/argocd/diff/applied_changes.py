"""Live with the changes of a diff applied: it has to be the prediction."""

from __future__ import annotations

from collections import defaultdict

from whysync.argocd.diff.changes import FieldChange
from whysync.json_tree import Json, Missing, Object
from whysync.kubernetes.api.pointer import split


def apply_changes(live: Object, changes: tuple[FieldChange, ...]) -> Object:
    """The predicted object: live with the changes applied; the arguments are not modified."""
    by_path: list[tuple[tuple[str, ...], FieldChange]] = [
        (split(change.pointer), change) for change in changes
    ]
    result = _applied(live, by_path)
    assert isinstance(result, dict)
    return result


def _applied(value: Json, changes: list[tuple[tuple[str, ...], FieldChange]]) -> Json:
    direct = [(path[0], change) for path, change in changes if len(path) == 1]
    deeper: defaultdict[str, list[tuple[tuple[str, ...], FieldChange]]] = defaultdict(list)
    for path, change in changes:
        if len(path) > 1:
            deeper[path[0]].append((path[1:], change))
    if isinstance(value, dict):
        result = dict(value)
        for key, below in deeper.items():
            result[key] = _applied(result[key], below)
        for key, change in direct:
            if isinstance(change.desired, Missing):
                del result[key]
            else:
                result[key] = change.desired
        return result
    assert isinstance(value, list)
    items = list(value)
    for key, below in deeper.items():
        items[int(key)] = _applied(items[int(key)], below)
    return _applied_to_list(items, [(int(key), change) for key, change in direct])


def _applied_to_list(items: list[Json], changes: list[tuple[int, FieldChange]]) -> list[Json]:
    """Apply changes and removals by index in live, then additions by index in the result."""
    removed: set[int] = set()
    added: list[tuple[int, Json]] = []
    for index, change in changes:
        if isinstance(change.desired, Missing):
            removed.add(index)
        elif isinstance(change.live, Missing):
            added.append((index, change.desired))
        else:
            items[index] = change.desired
    remaining = [item for index, item in enumerate(items) if index not in removed]
    for index, item in sorted(added, key=lambda pair: pair[0]):
        remaining.insert(index, item)
    return remaining

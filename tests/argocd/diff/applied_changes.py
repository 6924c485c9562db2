"""Live with the changes of a diff applied: it has to be the prediction."""

from __future__ import annotations

from collections import defaultdict

from whysync.argocd.diff.changes import FieldChange
from whysync.json_tree import Json, Missing, Object
from whysync.kubernetes.api.pointer import split


def apply_changes(live: Object, changes: tuple[FieldChange, ...]) -> Object:
    """The prediction, made from live and the changes; nothing passed in is changed."""
    here: list[tuple[tuple[str, ...], FieldChange]] = [(split(change.pointer), change) for change in changes]
    result = _applied(live, here)
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
    """Changes and removals by place in live first, then additions by place in the result."""
    gone: set[int] = set()
    added: list[tuple[int, Json]] = []
    for index, change in changes:
        if isinstance(change.desired, Missing):
            gone.add(index)
        elif isinstance(change.live, Missing):
            added.append((index, change.desired))
        else:
            items[index] = change.desired
    kept = [item for index, item in enumerate(items) if index not in gone]
    for index, item in sorted(added, key=lambda pair: pair[0]):
        kept.insert(index, item)
    return kept

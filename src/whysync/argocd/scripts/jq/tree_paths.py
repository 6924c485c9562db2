"""Removing parts of a tree by path, without changing the tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from whysync.json_tree import Json, Missing, dig

Path: TypeAlias = "tuple[str | int, ...]"


def removed(tree: Json, path: Path) -> Json:
    """The tree without what is at `path`; only the nodes on the way are copied.

    A path that leads nowhere changes nothing.
    """
    if not path:
        return None
    parents: list[Json] = []
    here = tree
    for step in path:
        below = dig(here, step)
        if isinstance(below, Missing):
            return tree
        parents.append(here)
        here = below
    changed = _without(parents.pop(), path[-1])
    for parent, step in zip(reversed(parents), reversed(path[:-1]), strict=True):
        changed = _with(parent, step, changed)
    return changed


def all_removed(tree: Json, paths: Iterable[Path]) -> Json:
    """Later items of a list go first, so that the numbers of earlier ones stay true."""
    for path in sorted(set(paths), key=_order, reverse=True):
        tree = removed(tree, path)
    return tree


def _order(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (0, step) for step in path)


def _without(parent: Json, step: str | int) -> Json:
    if isinstance(parent, dict):
        return {key: value for key, value in parent.items() if key != step}
    assert isinstance(parent, list)
    assert isinstance(step, int)
    index = step % len(parent)
    return parent[:index] + parent[index + 1 :]


def _with(parent: Json, step: str | int, child: Json) -> Json:
    if isinstance(parent, dict):
        return {**parent, str(step): child}
    assert isinstance(parent, list)
    assert isinstance(step, int)
    index = step % len(parent)
    return [*parent[:index], child, *parent[index + 1 :]]

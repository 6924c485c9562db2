"""Align the elements of two lists, so that changing one element does not rewrite the others."""

from __future__ import annotations

import difflib
from typing import NamedTuple

import msgspec

from whysync.json_tree import MISSING, Json, Missing


class Move(NamedTuple):
    """`old` at `place` becomes the first of `new`, or is removed if `new` is empty.

    Without `old`, all of `new` is inserted before the old element at that place.
    """

    place: int
    old: Json | Missing
    new: list[Json]


def aligned(before: list[Json], after: list[Json]) -> list[Move]:
    """The moves for all elements that change."""
    old, new = _encoded(before), _encoded(after)
    moves: list[Move] = []
    if len(before) == len(after):  # no element was added or removed: compare one by one
        return [Move(n, before[n], [after[n]]) for n in range(len(old)) if old[n] != new[n]]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        pairs = min(j - i, m - k)
        moves += [Move(i + n, before[i + n], [after[k + n]]) for n in range(pairs)]
        moves += [Move(n, before[n], []) for n in range(i + pairs, j)]
        if m - k > pairs:
            moves.append(Move(j, MISSING, after[k + pairs : m]))
    return moves


def _encoded(values: list[Json]) -> list[bytes]:
    return [msgspec.json.encode(value, order="sorted") for value in values]

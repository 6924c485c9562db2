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
    one, other = _as_words(before), _as_words(after)
    found: list[Move] = []
    if len(before) == len(after):  # no element was added or removed: compare one by one
        return [Move(n, before[n], [after[n]]) for n in range(len(one)) if one[n] != other[n]]
    for what, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        pairs = min(j - i, m - k)
        found += [Move(i + n, before[i + n], [after[k + n]]) for n in range(pairs)]
        found += [Move(n, before[n], []) for n in range(i + pairs, j)]
        if m - k > pairs:
            found.append(Move(j, MISSING, after[k + pairs : m]))
    return found


def _as_words(values: list[Json]) -> list[bytes]:
    return [msgspec.json.encode(value, order="sorted") for value in values]

"""Which elements of a list stay, change, go or come: so that a change of one does not rewrite the others."""

from __future__ import annotations

import difflib
from typing import NamedTuple

import msgspec

from whysync.json_tree import MISSING, Json, Missing


class Move(NamedTuple):
    """`old` at `place` becomes the first of `new`, or goes where there is none.

    Without `old`, all of `new` comes before the old element of that place.
    """

    place: int
    old: Json | Missing
    new: list[Json]


def aligned(before: list[Json], after: list[Json]) -> list[Move]:
    """What becomes of each element that does not stay as it is."""
    one, other = _as_words(before), _as_words(after)
    found: list[Move] = []
    if len(before) == len(after):  # nothing came or went: each for itself
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

"""The bodies of many objects, compressed: as decoded trees they take thirty times the memory."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Sequence
from typing import cast

import msgspec

from whysync.json_tree import Object

_FAST = 1
_OFTEN = 2
_MOST_KEPT = 16
_MOST_OPEN = 64


class OpenPacks:
    """The packs that are decoded at the moment."""

    def __init__(self) -> None:
        self._open: list[PackedBodies] = []
        self._kept: deque[PackedBodies] = deque()

    def __eq__(self, other: object) -> bool:
        """Which packs are open is not a fact: two Snapshots with the same facts are equal."""
        return isinstance(other, OpenPacks)

    __hash__ = object.__hash__

    def __len__(self) -> int:
        return len(self._open)

    def add(self, packed: PackedBodies) -> None:
        self._open.append(packed)

    def close_many(self, *, since: int = 0) -> None:
        """For a walk through all objects: close those opened since then, if there are many."""
        if len(self._open) > since + _MOST_OPEN:
            self.close(since=since)

    def close(self, *, since: int = 0) -> bool:
        """Drop the decoded bodies, except for a few that app after app needs. Was any open?

        These are CRDs, and the Applications that were packed with the one that is diagnosed.
        """
        was_open = len(self._open) > since
        for packed in self._open[since:]:
            if packed.times_opened <= _OFTEN:
                packed.close()
                continue
            self._kept.append(packed)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popleft().close()
        del self._open[since:]
        return was_open


class PackedBodies:
    """A few bodies, which are decoded together when one of them is needed."""

    __slots__ = ("_compressed", "_open_packs", "opened", "times_opened")

    def __init__(self, encoded: Sequence[bytes], open_packs: OpenPacks) -> None:
        """`encoded` are JSON objects."""
        self._compressed = zlib.compress(b"[" + b",".join(encoded) + b"]", _FAST)
        self._open_packs = open_packs
        self.opened: list[Object] | None = None
        """The decoded bodies, for a look without a call."""
        self.times_opened = 0

    @property
    def is_open(self) -> bool:
        return self.opened is not None

    def encoded(self) -> bytes:
        """All of them as one list in JSON."""
        return zlib.decompress(self._compressed)

    def bodies(self) -> list[Object]:
        if self.opened is None:
            decoded: object = msgspec.json.decode(self.encoded())
            self.opened = cast("list[Object]", decoded)
            self.times_opened += 1
            self._open_packs.add(self)
        return self.opened

    def close(self) -> None:
        self.opened = None

"""Pack the objects of a large bundle while it is read, so that its trees are never all in memory."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.packed_bodies import OpenPacks, PackedBodies

PACKED_FROM = 8 << 20
"""Bundles with fewer bytes are kept as trees."""
_OBJECTS = 64
_WAITING_BYTES = 4 << 20
_encode = msgspec.json.Encoder().encode


class Packer:
    """Packs objects by role and namespace: what belongs to one app is then decoded together.

    `is_clean` says whether an object contains nothing to mask. One that does stays a tree, because masks
    are numbered in the order of the Snapshot.
    """

    def __init__(self, is_clean: Callable[[Object], bool]) -> None:
        self.open_packs = OpenPacks()
        self._is_clean = is_clean
        self._waiting: dict[tuple[str, str], list[tuple[Manifest, bytes]]] = {}
        self._waiting_bytes = 0
        self._is_used = False

    def add(self, manifest: Manifest) -> None:
        if not self._is_clean(manifest.body):
            return
        try:
            encoded = _encode(manifest.body)
        except (ValueError, OverflowError, TypeError):  # a number or a text that JSON cannot represent
            return
        place = manifest.role.value, manifest.ref.namespace
        group = self._waiting.setdefault(place, [])
        group.append((manifest, encoded))
        self._waiting_bytes += len(encoded)
        if len(group) >= _OBJECTS:
            self._pack(self._waiting.pop(place))
        if self._waiting_bytes > _WAITING_BYTES:
            self.finish()

    def finish(self) -> bool:
        """Pack what is waiting. Is anything packed?"""
        for group in self._waiting.values():
            self._pack(group)
        self._waiting.clear()
        return self._is_used

    def _pack(self, group: list[tuple[Manifest, bytes]]) -> None:
        self._is_used = True
        packed = PackedBodies([encoded for _, encoded in group], self.open_packs)
        for position, (manifest, encoded) in enumerate(group):
            manifest.pack(packed, position)
            self._waiting_bytes -= len(encoded)

"""Pack the objects of a large bundle while it is read, so that its trees are never all in memory."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whysync.facts.bundle.builder import Added
from whysync.facts.masking import Masker
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.packed_bodies import OpenPacks, PackedBodies

PACKED_FROM = 8 << 20
"""Bundles with fewer bytes are kept as trees."""
_OBJECTS = 64
_MOST_LOUD = 64
_WAITING_BYTES = 4 << 20
_encode = msgspec.json.Encoder().encode


class Packer:
    """Packs objects by role and namespace: what belongs to one app is then decoded together.

    An object in which something has to be masked stays a tree, because masks are numbered in the order of the
    Snapshot.
    """

    def __init__(self, masker: Masker) -> None:
        self.open_packs = OpenPacks()
        self._masker = masker
        self._waiting: dict[tuple[str, str], list[tuple[Manifest, bytes]]] = {}
        self._waiting_bytes = 0
        self._is_used = False

    def add(self, added: Added) -> None:
        """Pack those in which nothing has to be masked, as soon as enough of them belong together."""
        loud = None if added.texts is None else self._masker.texts_to_look_at(added.texts)
        if loud is not None and len(loud) <= _MOST_LOUD:
            self._add_without(loud, added.manifests)
            return
        for at in range(0, len(added.manifests), _OBJECTS):
            self._add_together(added.manifests[at : at + _OBJECTS])

    def _add_without(self, loud: list[bytes], manifests: Sequence[Manifest]) -> None:
        """Only objects with one of these texts have to be checked."""
        for manifest in manifests:
            encoded = _encoded(manifest.body)
            if encoded is not None and any(text in encoded for text in loud):
                encoded = self._checked(manifest.body, encoded)
            if encoded is not None:
                self._add(manifest, encoded)

    def _add_together(self, manifests: Sequence[Manifest]) -> None:
        """Most objects have nothing to mask, so the texts of many are checked together first."""
        encoded = [_encoded(manifest.body) for manifest in manifests]
        are_harmless = self._masker.are_harmless(filter(None, encoded))
        for manifest, body in zip(manifests, encoded, strict=True):
            packable = body if are_harmless or body is None else self._checked(manifest.body, body)
            if packable is not None:
                self._add(manifest, packable)

    def _checked(self, body: Object, encoded: bytes) -> bytes | None:
        if self._masker.is_harmless(body, encoded):
            return encoded
        return _encoded(body) if self._masker.is_clean(body) else None

    def _add(self, manifest: Manifest, encoded: bytes) -> None:
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


def _encoded(body: Object) -> bytes | None:
    try:
        return _encode(body)
    except (ValueError, OverflowError, TypeError):  # a number or a text that JSON cannot represent
        return None

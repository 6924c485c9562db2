"""Pack the objects of a large bundle while it is read, so that its trees are never all in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from whysync.facts.bundle.builder import Added, AddedObjects
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

    def add(self, added: AddedObjects) -> None:
        """Pack those in which nothing has to be masked, as soon as enough of them belong together."""
        loud = self._masker.texts_to_look_at(added.texts, added.files)
        few = loud is not None and len(loud) <= _MOST_LOUD
        unknown: list[Added] = []
        for new in added.objects:
            if new.encoded is None or loud is None or not few:
                unknown.append(new)
            elif any(text in new.encoded for text in loud):
                self._add_checked(new)
            else:
                self._add(new.manifests, new.encoded)
        for at in range(0, len(unknown), _OBJECTS):
            self._add_together(unknown[at : at + _OBJECTS])

    def _add_together(self, objects: Sequence[Added]) -> None:
        """Most objects have nothing to mask, so the texts of many are checked together first."""
        encoded = [new.encoded or _encoded(new.manifests[0].body) for new in objects]
        are_harmless = self._masker.are_harmless(filter(None, encoded))
        for new, body in zip(objects, encoded, strict=True):
            if are_harmless and body is not None:
                self._add(new.manifests, body)
            elif body is not None:
                self._add_checked(new)

    def _add_checked(self, new: Added) -> None:
        """Pack an object if it is clean; otherwise it stays a tree, or becomes one."""
        if new.encoded is None:
            body = new.manifests[0].body
        else:
            body = cast("Object", msgspec.json.decode(new.encoded))
        encoded = _encoded(body)
        if encoded is not None and self._masker.is_harmless(body, encoded):
            self._add(new.manifests, encoded)
        elif encoded is not None and self._masker.is_clean(body):
            self._add(new.manifests, _encode(body))
        elif new.encoded is not None:
            for manifest in new.manifests:
                manifest.decode(body)

    def _add(self, manifests: Iterable[Manifest], encoded: bytes) -> None:
        for manifest in manifests:
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

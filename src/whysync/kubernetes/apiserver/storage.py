"""Object store: every write gets the next resourceVersion and an entry in the journal.

Indexes by kind, namespace, owner and uid keep the cost of a lookup proportional to its result.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Set
from typing import Final, Literal

import msgspec

from whysync.json_tree import Object, fields, items, text

ObjectKey = tuple[tuple[str, str], str, str]
"""Group and plural, namespace, name."""

_NO_PLACES: Final[frozenset[ObjectKey]] = frozenset()
_GENERATED_UID: Final = "-0000-4000-8000-"
_MAX_SERIAL: Final = 0x7FFFFFFF


class Change(msgspec.Struct, frozen=True):
    """One write, as a watch reports it."""

    revision: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object_key: ObjectKey
    obj: Object
    """The stored object; for a deletion, its last state."""


class Store:
    def __init__(self) -> None:
        self.journal: list[Change] = []
        """All writes since the start, oldest first; readers keep their own position in it."""
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._ordered: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._by_namespace: dict[str, set[ObjectKey]] = {}
        self._owned: dict[str, set[ObjectKey]] = {}
        self._by_uid: dict[str, set[ObjectKey]] = {}
        self._terminating: dict[tuple[str, str], set[ObjectKey]] = {}
        self._writes: dict[tuple[str, str], int] = {}
        self._revision = 100
        self._serial = 0
        self.assumed_uids: set[str] = set()
        """Uids of owners that are not stored but are assumed to exist."""

    # -- one object -------------------------------------------------------------------------------

    def get(self, object_key: ObjectKey) -> Object | None:
        objects = self._objects.get(object_key[0])
        return None if objects is None else objects.get(object_key[1:])

    def put(self, object_key: ObjectKey, obj: Object) -> Object:
        """Stores the object with a new resourceVersion; returns the stored object."""
        stored = self.with_next_revision(obj)
        store, key = object_key[0], object_key[1:]
        objects = self._objects.setdefault(store, {})
        old = objects.get(key)
        if old is None:
            insort(self._ordered.setdefault(store, []), key)
            self._by_namespace.setdefault(object_key[1], set()).add(object_key)
        objects[key] = stored
        if old is None:
            self._add_to_indexes(object_key, stored)
        elif not _has_same_entries(old, stored):
            self._remove_from_indexes(object_key, old)
            self._add_to_indexes(object_key, stored)
        self._writes[store] = self._writes.get(store, 0) + 1
        type = "ADDED" if old is None else "MODIFIED"
        self.journal.append(Change(self._revision, type, object_key, stored))
        return stored

    def with_next_revision(self, obj: Object) -> Object:
        """The object with the next resourceVersion, without storing it."""
        self._revision += 1
        meta: Object = {**fields(obj.get("metadata")), "resourceVersion": str(self._revision)}
        return {**obj, "metadata": meta}

    def drop(self, object_key: ObjectKey) -> None:
        store, key = object_key[0], object_key[1:]
        deleted = self._objects.get(store, {}).pop(key, None)
        if deleted is None:
            return
        order = self._ordered[store]
        del order[bisect_left(order, key)]
        self._by_namespace[object_key[1]].discard(object_key)
        self._remove_from_indexes(object_key, deleted)
        self._writes[store] = self._writes.get(store, 0) + 1
        self._revision += 1
        self.journal.append(Change(self._revision, "DELETED", object_key, deleted))

    def _add_to_indexes(self, object_key: ObjectKey, obj: Object) -> None:
        meta = fields(obj.get("metadata"))
        uid = text(meta.get("uid"))
        self._by_uid.setdefault(uid, set()).add(object_key)
        self.assumed_uids.discard(uid)
        for owner in owners_of(obj):
            self._owned.setdefault(owner, set()).add(object_key)
        if "deletionTimestamp" in meta:
            self._terminating.setdefault(object_key[0], set()).add(object_key)

    def _remove_from_indexes(self, object_key: ObjectKey, obj: Object) -> None:
        meta = fields(obj.get("metadata"))
        _remove_from_index(self._by_uid, text(meta.get("uid")), object_key)
        for owner in owners_of(obj):
            _remove_from_index(self._owned, owner, object_key)
        if "deletionTimestamp" in meta:
            self._terminating.get(object_key[0], set()).discard(object_key)

    # -- many -------------------------------------------------------------------------------------

    @property
    def revision(self) -> str:
        return str(self._revision)

    def writes(self, store: tuple[str, str]) -> int:
        """The number of writes of a kind; caches are valid while it does not change."""
        return self._writes.get(store, 0)

    def within(self, store: tuple[str, str], namespace: str = "") -> Iterator[tuple[ObjectKey, Object]]:
        """Objects of a kind by namespace and name; of all namespaces if none is given."""
        objects = self._objects.get(store)
        if not objects:
            return
        order = self._ordered[store]
        if namespace:
            start = bisect_left(order, (namespace, ""))
            keys = order[start : bisect_left(order, (f"{namespace}\0", ""))]
        else:
            keys = order[:]
        for key in keys:
            obj = objects.get(key)
            if obj is not None:
                yield (store, *key), obj

    def everything(self) -> list[tuple[ObjectKey, Object]]:
        return [entry for store in sorted(self._objects) for entry in self.within(store)]

    def in_namespace(self, namespace: str) -> list[ObjectKey]:
        """All objects of a namespace."""
        return sorted(self._by_namespace.get(namespace, _NO_PLACES))

    def owned_by(self, uid: str) -> list[ObjectKey]:
        """All objects with an owner reference to this uid."""
        return sorted(self._owned.get(uid, _NO_PLACES))

    def with_uid(self, uid: str) -> Set[ObjectKey]:
        """The places of the objects with this UID."""
        return self._by_uid.get(uid, _NO_PLACES)

    def terminating(self, store: tuple[str, str]) -> list[ObjectKey]:
        """Objects of a kind that are being deleted."""
        return sorted(self._terminating.get(store, _NO_PLACES))

    # -- names ------------------------------------------------------------------------------------

    def serial(self) -> int:
        """The next number for generated names and uids, which are reproducible."""
        self._serial += 1
        return self._serial

    def uid(self) -> str:
        number = self.serial()
        return f"{number:08x}{_GENERATED_UID}{number:012x}"

    def reserve_uid(self, uid: str) -> None:
        """Never generates the uid of a loaded object: continues after it if it was generated here."""
        if uid[8:24] == _GENERATED_UID:
            try:
                number = int(uid[:8], 16)
            except ValueError:
                return
            if self._serial < number <= _MAX_SERIAL:
                self._serial = number

    def suffix(self) -> str:
        """Five characters from those that Kubernetes appends to a generated name."""
        letters = "bcdfghjklmnpqrstvwxz2456789"
        number, characters = self.serial() * 7919 + 1234567, ""
        for _ in range(5):
            number, index = divmod(number, len(letters))
            characters += letters[index]
        return characters


def _remove_from_index(index: dict[str, set[ObjectKey]], key: str, object_key: ObjectKey) -> None:
    keys = index.get(key)
    if keys is not None:
        keys.discard(object_key)
        if not keys:
            del index[key]


def _has_same_entries(old: Object, new: Object) -> bool:
    """Do the indexes of the store have the same entries for both states of an object?"""
    old_meta, new_meta = fields(old.get("metadata")), fields(new.get("metadata"))
    return (
        old_meta.get("uid") == new_meta.get("uid")
        and old_meta.get("ownerReferences") == new_meta.get("ownerReferences")
        and ("deletionTimestamp" in old_meta) == ("deletionTimestamp" in new_meta)
    )


def uid_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("uid"))


def owners_of(obj: Object) -> list[str]:
    """The ids of an object's owners."""
    references = fields(obj.get("metadata")).get("ownerReferences")
    return [text(fields(reference).get("uid")) for reference in items(references)] if references else []

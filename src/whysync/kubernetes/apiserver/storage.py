"""Where the objects lie. Every write gets the next resource version, and a line in the journal.

What is asked often is kept in order, so that an answer costs what it is long: objects of a kind by namespace
and name, of a namespace, of an owner, and those that are being deleted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Set
from typing import Final, Literal

import msgspec

from whysync.json_tree import Object, fields, items, text

Place = tuple[tuple[str, str], str, str]
"""Group and plural, namespace, name."""

_NONE: Final[frozenset[Place]] = frozenset()
_OWN_ID: Final = "-0000-4000-8000-"
_MOST_IDS: Final = 0x7FFFFFFF


class Change(msgspec.Struct, frozen=True):
    """One write, as a watch reports it."""

    revision: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    place: Place
    obj: Object
    """As kept; of a deletion, as it was last."""


class Store:
    def __init__(self) -> None:
        self.journal: list[Change] = []
        """All that was written since the start, oldest first: who follows it keeps an index into it."""
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._ordered: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._inside: dict[str, set[Place]] = {}
        self._owned: dict[str, set[Place]] = {}
        self._known: dict[str, set[Place]] = {}
        self._leaving: dict[tuple[str, str], set[Place]] = {}
        self._writes: dict[tuple[str, str], int] = {}
        self._revision = 100
        self._serial = 0
        self.elsewhere: set[str] = set()
        """Ids of owners that nobody put in here, but that are taken to exist."""

    # -- one object -------------------------------------------------------------------------------

    def get(self, place: Place) -> Object | None:
        there = self._objects.get(place[0])
        return None if there is None else there.get(place[1:])

    def put(self, place: Place, obj: Object) -> Object:
        """Keeps the object under a new resource version, and gives it back as kept."""
        kept = self.stamped(obj)
        store, key = place[0], place[1:]
        there = self._objects.setdefault(store, {})
        before = there.get(key)
        if before is None:
            insort(self._ordered.setdefault(store, []), key)
            self._inside.setdefault(place[1], set()).add(place)
        else:
            self._forget(place, before)
        there[key] = kept
        self._remember(place, kept)
        self._writes[store] = self._writes.get(store, 0) + 1
        type = "ADDED" if before is None else "MODIFIED"
        self.journal.append(Change(self._revision, type, place, kept))
        return kept

    def stamped(self, obj: Object) -> Object:
        """The object under the next resource version; also for a last look at what is gone."""
        self._revision += 1
        meta: Object = {**fields(obj.get("metadata")), "resourceVersion": str(self._revision)}
        return {**obj, "metadata": meta}

    def drop(self, place: Place) -> None:
        store, key = place[0], place[1:]
        gone = self._objects.get(store, {}).pop(key, None)
        if gone is None:
            return
        order = self._ordered[store]
        del order[bisect_left(order, key)]
        self._inside[place[1]].discard(place)
        self._forget(place, gone)
        self._writes[store] = self._writes.get(store, 0) + 1
        self._revision += 1
        self.journal.append(Change(self._revision, "DELETED", place, gone))

    def _remember(self, place: Place, obj: Object) -> None:
        meta = fields(obj.get("metadata"))
        uid = text(meta.get("uid"))
        self._known.setdefault(uid, set()).add(place)
        self.elsewhere.discard(uid)
        for owner in owners_of(obj):
            self._owned.setdefault(owner, set()).add(place)
        if "deletionTimestamp" in meta:
            self._leaving.setdefault(place[0], set()).add(place)

    def _forget(self, place: Place, obj: Object) -> None:
        meta = fields(obj.get("metadata"))
        _take_out(self._known, text(meta.get("uid")), place)
        for owner in owners_of(obj):
            _take_out(self._owned, owner, place)
        if "deletionTimestamp" in meta:
            self._leaving.get(place[0], set()).discard(place)

    # -- many -------------------------------------------------------------------------------------

    @property
    def revision(self) -> str:
        return str(self._revision)

    def writes(self, store: tuple[str, str]) -> int:
        """How often objects of this kind were written: what is read from them holds as long."""
        return self._writes.get(store, 0)

    def within(self, store: tuple[str, str], namespace: str = "") -> Iterator[tuple[Place, Object]]:
        """Objects of a kind in order of namespace and name; of all namespaces when none is given."""
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

    def everything(self) -> list[tuple[Place, Object]]:
        return [entry for store in sorted(self._objects) for entry in self.within(store)]

    def inside(self, namespace: str) -> list[Place]:
        """All objects of a namespace."""
        return sorted(self._inside.get(namespace, _NONE))

    def owned_by(self, uid: str) -> list[Place]:
        """All that names this owner."""
        return sorted(self._owned.get(uid, _NONE))

    def known_as(self, uid: str) -> Set[Place]:
        """The places of the objects with this UID."""
        return self._known.get(uid, _NONE)

    def leaving(self, store: tuple[str, str]) -> list[Place]:
        """Objects of a kind that are being deleted."""
        return sorted(self._leaving.get(store, _NONE))

    # -- names ------------------------------------------------------------------------------------

    def serial(self) -> int:
        """The next number, for names and ids that nobody may guess but everybody can reproduce."""
        self._serial += 1
        return self._serial

    def uid(self) -> str:
        number = self.serial()
        return f"{number:08x}{_OWN_ID}{number:012x}"

    def give_no_more(self, uid: str) -> None:
        """An id that came with a loaded object: where a model has given it, count on from there."""
        if uid[8:24] == _OWN_ID:
            try:
                number = int(uid[:8], 16)
            except ValueError:
                return
            if self._serial < number <= _MOST_IDS:
                self._serial = number

    def suffix(self) -> str:
        """Five characters from those that Kubernetes appends to a generated name."""
        letters = "bcdfghjklmnpqrstvwxz2456789"
        number, out = self.serial() * 7919 + 1234567, ""
        for _ in range(5):
            number, rest = divmod(number, len(letters))
            out += letters[rest]
        return out


def _take_out(index: dict[str, set[Place]], key: str, place: Place) -> None:
    there = index.get(key)
    if there is not None:
        there.discard(place)
        if not there:
            del index[key]


def uid_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("uid"))


def owners_of(obj: Object) -> list[str]:
    """The ids of an object's owners."""
    references = fields(obj.get("metadata")).get("ownerReferences")
    return [text(fields(reference).get("uid")) for reference in items(references)] if references else []

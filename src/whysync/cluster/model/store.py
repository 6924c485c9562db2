"""Where the objects lie. Every write gets the next resource version, and a line in the journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from whysync.contracts.tree import Object, fields, text

Place = tuple[tuple[str, str], str, str]
"""Group and plural, namespace, name."""


@dataclass(frozen=True, slots=True)
class Change:
    """One write, as a watch tells it."""

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
        self._revision = 100
        self._serial = 0

    def get(self, place: Place) -> Object | None:
        return self._objects.get(place[0], {}).get(place[1:])

    def put(self, place: Place, obj: Object) -> Object:
        """Keeps the object under a new resource version, and gives it back as kept."""
        kept = self.stamped(obj)
        there = self._objects.setdefault(place[0], {})
        type = "MODIFIED" if place[1:] in there else "ADDED"
        there[place[1:]] = kept
        self.journal.append(Change(self._revision, type, place, kept))
        return kept

    def stamped(self, obj: Object) -> Object:
        """The object under the next resource version; also for a last look at what is gone."""
        self._revision += 1
        meta: Object = {**fields(obj.get("metadata")), "resourceVersion": str(self._revision)}
        return {**obj, "metadata": meta}

    def drop(self, place: Place) -> None:
        gone = self._objects.get(place[0], {}).pop(place[1:], None)
        if gone is not None:
            self.journal.append(Change(self._revision, "DELETED", place, gone))

    @property
    def revision(self) -> str:
        return str(self._revision)

    def within(self, store: tuple[str, str], namespace: str = "") -> Iterator[tuple[Place, Object]]:
        """Objects of a kind in order of namespace and name; of all namespaces when none is given."""
        found = self._objects.get(store, {})
        for key in sorted(found):
            if not namespace or key[0] == namespace:
                yield (store, *key), found[key]

    def everything(self) -> list[tuple[Place, Object]]:
        return [entry for store in sorted(self._objects) for entry in self.within(store)]

    def serial(self) -> int:
        """The next number, for names and ids that nobody may guess but everybody can reproduce."""
        self._serial += 1
        return self._serial

    def uid(self) -> str:
        number = self.serial()
        return f"{number:08x}-0000-4000-8000-{number:012x}"

    def suffix(self) -> str:
        """Five characters from those that Kubernetes appends to a generated name."""
        letters = "bcdfghjklmnpqrstvwxz2456789"
        number, out = self.serial() * 7919 + 1234567, ""
        for _ in range(5):
            number, rest = divmod(number, len(letters))
            out += letters[rest]
        return out


def uid_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("uid"))

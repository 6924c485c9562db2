"""Who belongs to whom, kept up to date from the journal: looking something up never walks the store."""

from __future__ import annotations

from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.apiserver.storage import Change, Place, Store

Kind = tuple[str, str]
"""Group and plural."""


def controller_of(obj: Object) -> Object:
    """The one owner that controls the object; empty where there is none."""
    for raw in items(fields(obj.get("metadata")).get("ownerReferences")):
        reference = fields(raw)
        if reference.get("controller") is True:
            return reference
    return {}


class ObjectIndex:
    """Looks at the journal whenever it is asked, so that its answers are always of this moment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen_changes = 0
        self._there: dict[tuple[Kind, str], dict[str, None]] = {}
        self._owned: dict[tuple[Kind, str], dict[Place, None]] = {}
        self._orphans: dict[tuple[Kind, str], dict[Place, None]] = {}
        self._owner: dict[Place, str] = {}
        self._spaces: dict[Kind, dict[str, None]] = {}

    def within(self, kind: Kind, namespace: str = "") -> list[Object]:
        """The objects of a kind, of all namespaces when none is given, by name."""
        self._catch_up()
        spaces = [namespace] if namespace else sorted(self._spaces.get(kind, {}))
        return [
            obj
            for space in spaces
            for name in sorted(self._there.get((kind, space), {}))
            if (obj := self._store.get((kind, space, name))) is not None
        ]

    def any(self, kind: Kind) -> bool:
        """Are there objects of a kind at all?"""
        self._catch_up()
        return any(self._there.get((kind, space)) for space in self._spaces.get(kind, ()))

    def owned(self, kind: Kind, uid: str) -> list[Object]:
        """The objects of a kind that an owner controls, by name."""
        self._catch_up()
        return self._read(self._owned.get((kind, uid), {}))

    def orphans(self, kind: Kind, namespace: str) -> list[Object]:
        """The objects of a kind without a controller, by name."""
        self._catch_up()
        return self._read(self._orphans.get((kind, namespace), {}))

    def _read(self, places: dict[Place, None]) -> list[Object]:
        return [obj for place in sorted(places) if (obj := self._store.get(place)) is not None]

    def _catch_up(self) -> None:
        journal = self._store.journal
        while self._seen_changes < len(journal):
            self._note(journal[self._seen_changes])
            self._seen_changes += 1

    def _note(self, change: Change) -> None:
        place = change.place
        kind, namespace, name = place
        owner = text(controller_of(change.obj).get("uid"))
        known = self._owner.get(place)
        if change.type == "DELETED":
            self._there.get((kind, namespace), {}).pop(name, None)
            self._forget(place, known)
            self._owner.pop(place, None)
            return
        if known is None:
            self._there.setdefault((kind, namespace), {})[name] = None
            self._spaces.setdefault(kind, {})[namespace] = None
        if known == owner:
            return
        self._forget(place, known)
        self._owner[place] = owner
        if owner:
            self._owned.setdefault((kind, owner), {})[place] = None
        else:
            self._orphans.setdefault((kind, namespace), {})[place] = None

    def _forget(self, place: Place, owner: str | None) -> None:
        kind, namespace, _ = place
        if owner:
            left = self._owned.get((kind, owner), {})
            left.pop(place, None)
            if not left:
                self._owned.pop((kind, owner), None)
        elif owner is not None:
            self._orphans.get((kind, namespace), {}).pop(place, None)

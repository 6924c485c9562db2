"""Index of objects by kind, namespace and controller, kept up to date from the store's journal."""

from __future__ import annotations

from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.apiserver.storage import Change, ObjectKey, Store

Kind = tuple[str, str]
"""Group and plural."""


def controller_of(obj: Object) -> Object:
    """The controller reference of the object (`GetControllerOf`); empty if it has none."""
    for raw in items(fields(obj.get("metadata")).get("ownerReferences")):
        reference = fields(raw)
        if reference.get("controller") is True:
            return reference
    return {}


class ObjectIndex:
    """Reads new entries of the journal on every call, so that its answers are current."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen_changes = 0
        self._names: dict[tuple[Kind, str], dict[str, None]] = {}
        self._owned: dict[tuple[Kind, str], dict[ObjectKey, None]] = {}
        self._orphans: dict[tuple[Kind, str], dict[ObjectKey, None]] = {}
        self._owner: dict[ObjectKey, str] = {}
        self._namespaces: dict[Kind, dict[str, None]] = {}

    def within(self, kind: Kind, namespace: str = "") -> list[Object]:
        """The objects of a kind by name, of all namespaces if none is given."""
        self._catch_up()
        namespaces = [namespace] if namespace else sorted(self._namespaces.get(kind, {}))
        return [
            obj
            for object_namespace in namespaces
            for name in sorted(self._names.get((kind, object_namespace), {}))
            if (obj := self._store.get((kind, object_namespace, name))) is not None
        ]

    def any(self, kind: Kind) -> bool:
        """Are there objects of a kind at all?"""
        self._catch_up()
        return any(self._names.get((kind, space)) for space in self._namespaces.get(kind, ()))

    def owned(self, kind: Kind, uid: str) -> list[Object]:
        """The objects of a kind that an owner controls, by name."""
        self._catch_up()
        return self._read(self._owned.get((kind, uid), {}))

    def orphans(self, kind: Kind, namespace: str) -> list[Object]:
        """The objects of a kind without a controller, by name."""
        self._catch_up()
        return self._read(self._orphans.get((kind, namespace), {}))

    def _read(self, object_keys: dict[ObjectKey, None]) -> list[Object]:
        return [obj for object_key in sorted(object_keys) if (obj := self._store.get(object_key)) is not None]

    def _catch_up(self) -> None:
        journal = self._store.journal
        while self._seen_changes < len(journal):
            self._apply(journal[self._seen_changes])
            self._seen_changes += 1

    def _apply(self, change: Change) -> None:
        object_key = change.object_key
        kind, namespace, name = object_key
        owner = text(controller_of(change.obj).get("uid"))
        old_owner = self._owner.get(object_key)
        if change.type == "DELETED":
            self._names.get((kind, namespace), {}).pop(name, None)
            self._forget(object_key, old_owner)
            self._owner.pop(object_key, None)
            return
        if old_owner is None:
            self._names.setdefault((kind, namespace), {})[name] = None
            self._namespaces.setdefault(kind, {})[namespace] = None
        if old_owner == owner:
            return
        self._forget(object_key, old_owner)
        self._owner[object_key] = owner
        if owner:
            self._owned.setdefault((kind, owner), {})[object_key] = None
        else:
            self._orphans.setdefault((kind, namespace), {})[object_key] = None

    def _forget(self, object_key: ObjectKey, owner: str | None) -> None:
        kind, namespace, _ = object_key
        if owner:
            owned = self._owned.get((kind, owner), {})
            owned.pop(object_key, None)
            if not owned:
                self._owned.pop((kind, owner), None)
        elif owner is not None:
            self._orphans.get((kind, namespace), {}).pop(object_key, None)

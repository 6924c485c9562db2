"""The garbage collector and the end of namespaces, as a controller among the others."""

from __future__ import annotations

from datetime import datetime

from whysync.json_tree import fields
from whysync.kubernetes.apiserver.storage import Change, owners_of
from whysync.kubernetes.controllers.client import Desk
from whysync.kubernetes.controllers.object_index import Kind


class Collector:
    """Wakes up when something was deleted, is to be, or names an owner that is not there."""

    name = "garbage-collector"
    hears: frozenset[Kind] | None = None

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._wanted = True  # what was there at the start may hold something

    def heard(self, change: Change) -> None:
        if change.type == "DELETED" or "deletionTimestamp" in fields(change.obj.get("metadata")):
            self._wanted = True
        elif change.type == "ADDED":
            known_as = self._desk.model.store.known_as
            self._wanted = self._wanted or any(not known_as(owner) for owner in owners_of(change.obj))

    def act(self) -> bool:
        if not self._wanted:
            return False
        self._wanted = False
        self._desk.model.settle()
        return True

    def due(self) -> datetime | None:
        return None

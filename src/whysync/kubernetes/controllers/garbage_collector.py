"""The garbage collector and the end of namespaces, as a controller among the others."""

from __future__ import annotations

from datetime import datetime

from whysync.json_tree import fields
from whysync.kubernetes.apiserver.storage import Change, owners_of
from whysync.kubernetes.controllers.client import Client
from whysync.kubernetes.controllers.object_index import Kind


class GarbageCollector:
    """Wakes up when something was deleted, is to be, or names an owner that is not there."""

    name = "garbage-collector"
    watches: frozenset[Kind] | None = None

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wanted = True  # what was there at the start may hold something

    def on_event(self, change: Change) -> None:
        if change.type == "DELETED" or "deletionTimestamp" in fields(change.obj.get("metadata")):
            self._wanted = True
        elif change.type == "ADDED":
            known_as = self._client.api_server.store.known_as
            self._wanted = self._wanted or any(not known_as(owner) for owner in owners_of(change.obj))

    def reconcile(self) -> bool:
        if not self._wanted:
            return False
        self._wanted = False
        self._client.api_server.settle()
        return True

    def next_wakeup(self) -> datetime | None:
        return None

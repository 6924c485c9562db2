"""Garbage collector and namespace controller: run `ApiServer.settle` when something was deleted."""

from __future__ import annotations

from datetime import datetime

from whysync.json_tree import fields
from whysync.kubernetes.apiserver.storage import Change, owners_of
from whysync.kubernetes.controllers.client import Client
from whysync.kubernetes.controllers.object_index import Kind


class GarbageCollector:
    """Runs when an object was deleted, is terminating, or has an owner that does not exist."""

    name = "garbage-collector"
    watches: frozenset[Kind] | None = None

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pending = True  # loaded objects may have to be collected

    def on_event(self, change: Change) -> None:
        if change.type == "DELETED" or "deletionTimestamp" in fields(change.obj.get("metadata")):
            self._pending = True
        elif change.type == "ADDED":
            with_uid = self._client.api_server.store.with_uid
            self._pending = self._pending or any(not with_uid(owner) for owner in owners_of(change.obj))

    def reconcile(self) -> bool:
        if not self._pending:
            return False
        self._pending = False
        self._client.api_server.settle()
        return True

    def next_wakeup(self) -> datetime | None:
        return None

"""Controller protocol, work queue, and the base class of controllers with a work queue.

Controllers react to events, so that their cost depends on the number of changes, not of objects.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Protocol

from whysync.json_tree import Object, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import Client, StatusError, name_of, namespace_of
from whysync.kubernetes.controllers.conditions import add_seconds
from whysync.kubernetes.controllers.object_index import Kind, controller_of

_RETRY_SECONDS: Final = 60
"""After an error of the API server that the controller does not handle."""


class Controller(Protocol):
    @property
    def name(self) -> str:
        """The name in `Behavior.stopped`, such as `deployment` or `scheduler`."""
        ...

    @property
    def watches(self) -> frozenset[Kind] | None:
        """The kinds that the controller watches; `None` means all."""
        ...

    def on_event(self, change: Change) -> None:
        """Record the event; nothing is written to the API server here."""
        ...

    def reconcile(self) -> bool:
        """Process what is due now; true if there was anything."""
        ...

    def next_wakeup(self) -> datetime | None:
        """When the controller acts next without an event."""
        ...


Key = tuple[str, str]
"""Namespace and name."""


class Queue:
    """Work queue: each key once, now or later, in the order in which they were added."""

    def __init__(self) -> None:
        self._ready: dict[Key, None] = {}
        self._delayed: list[tuple[datetime, Key]] = []
        self._due: dict[Key, datetime] = {}

    def add(self, key: Key) -> None:
        self._ready[key] = None

    def add_at(self, key: Key, when: datetime) -> None:
        """Add the key at a time; if it is queued already, the earlier time applies."""
        due = self._due.get(key)
        if due is None or when < due:
            self._due[key] = when
            heapq.heappush(self._delayed, (when, key))

    def pop_due(self, now: datetime) -> list[Key]:
        """Remove and return the keys that are due."""
        while self._delayed and self._delayed[0][0] <= now:
            when, key = heapq.heappop(self._delayed)
            if self._due.get(key) == when:
                del self._due[key]
                self._ready[key] = None
        keys, self._ready = list(self._ready), {}
        return keys

    @property
    def is_empty(self) -> bool:
        return not self._ready and not self._delayed

    def next_wakeup(self) -> datetime | None:
        while self._delayed and self._due.get(self._delayed[0][1]) != self._delayed[0][0]:
            heapq.heappop(self._delayed)
        return self._delayed[0][0] if self._delayed else None


class QueueController:
    """A controller with a work queue: `keys_of` maps an event to keys, `sync` processes one object."""

    name = ""
    main: Kind = ("", "")
    """The kind of the objects that it syncs."""
    owner_kind = ""
    """The `kind` in the controller references of its dependents."""
    dependents: frozenset[Kind] = frozenset()

    def __init__(self, client: Client) -> None:
        self.client = client
        self.queue = Queue()

    @property
    def watches(self) -> frozenset[Kind] | None:
        return self.dependents | {self.main}

    def on_event(self, change: Change) -> None:
        for key in self.keys_of(change):
            self.queue.add(key)

    def keys_of(self, change: Change) -> Iterable[Key]:
        kind, namespace, name = change.object_key
        if kind == self.main:
            return [(namespace, name)]
        owner = controller_of(change.obj)
        if owner.get("kind") == self.owner_kind:
            return [(namespace, text(owner.get("name")))]
        return self.keys_of_orphan(change) if not owner else ()

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:  # noqa: ARG002  subclasses that adopt use it
        """Keys of the owners that may adopt an object without a controller."""
        return ()

    def reconcile(self) -> bool:
        if self.queue.is_empty:  # as nearly always
            return False
        keys = self.queue.pop_due(self.client.now)
        for namespace, name in keys:
            obj = self.client.get(self.main, namespace, name)
            if obj is None:
                self.forget((namespace, name))
            else:
                try:
                    self.sync(obj)
                except StatusError:
                    self.enqueue_after(obj, _RETRY_SECONDS)
        return bool(keys)

    def next_wakeup(self) -> datetime | None:
        return self.queue.next_wakeup()

    def forget(self, key: Key) -> None:
        """Drop the state of an object that was deleted."""

    def sync(self, obj: Object) -> None:
        raise NotImplementedError

    def enqueue_after(self, obj: Object, seconds: float) -> None:
        """Sync the object again after a delay."""
        self.enqueue_at(obj, add_seconds(self.client.now, seconds))

    def enqueue_at(self, obj: Object, when: datetime) -> None:
        self.queue.add_at((namespace_of(obj), name_of(obj)), when)


# Exponential back-off of a work queue, per key.
#
# The real work queue starts with milliseconds. Here the first back-off is a second, so that everything
# happens at whole seconds and an hour of failures is a handful of attempts.


_INITIAL_SECONDS: Final = 1.0
_MAX_SECONDS: Final = 1000.0
_MAX_DOUBLINGS: Final = 10


class Backoff:
    def __init__(self) -> None:
        self._failures: dict[tuple[str, str], int] = {}

    def next(self, key: tuple[str, str]) -> float:
        count = self._failures.get(key, 0)
        self._failures[key] = min(count + 1, _MAX_DOUBLINGS)
        return min(_INITIAL_SECONDS * 2**count, _MAX_SECONDS)

    def forget(self, key: tuple[str, str]) -> None:
        self._failures.pop(key, None)

"""What every controller is: it watches of changes, works on the objects they touch, and knows its next date.

The cost of a controller is that of the changes, never that of all objects.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Protocol

from whysync.json_tree import Object, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import Client, Denied, name_of, namespace_of
from whysync.kubernetes.controllers.conditions import after
from whysync.kubernetes.controllers.object_index import Kind, controller_of

_AGAIN_SECONDS: Final = 60
"""After a refusal that a controller did not reckon with."""


class Controller(Protocol):
    @property
    def name(self) -> str:
        """As a script may stop it: `deployment`, `scheduler`."""
        ...

    @property
    def watches(self) -> frozenset[Kind] | None:
        """The kinds that the controller watches; `None` means all."""
        ...

    def on_event(self, change: Change) -> None:
        """Take note; nothing is written here."""
        ...

    def reconcile(self) -> bool:
        """Do what is due now; true where anything was looked at."""
        ...

    def next_wakeup(self) -> datetime | None:
        """When it acts next though nothing changes."""
        ...


Key = tuple[str, str]
"""Namespace and name."""


class Queue:
    """Keys to look at: once each, now or later, in the order in which they came."""

    def __init__(self) -> None:
        self._now: dict[Key, None] = {}
        self._later: list[tuple[datetime, Key]] = []
        self._dates: dict[Key, datetime] = {}

    def add(self, key: Key) -> None:
        self._now[key] = None

    def add_at(self, key: Key, when: datetime) -> None:
        """An earlier date that is already set stays; a later one gives way."""
        known = self._dates.get(key)
        if known is None or when < known:
            self._dates[key] = when
            heapq.heappush(self._later, (when, key))

    def taken(self, now: datetime) -> list[Key]:
        """All that is to be looked at now."""
        while self._later and self._later[0][0] <= now:
            when, key = heapq.heappop(self._later)
            if self._dates.get(key) == when:
                del self._dates[key]
                self._now[key] = None
        keys, self._now = list(self._now), {}
        return keys

    def next_wakeup(self) -> datetime | None:
        while self._later and self._dates.get(self._later[0][1]) != self._later[0][0]:
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None


class QueueController:
    """A controller with a queue: `keys_of` says whom a change concerns, `sync` looks at one of them."""

    name = ""
    main: Kind = ("", "")
    """The kind that it is for."""
    owner_kind = ""
    """The `kind` that its dependents name as their controller."""
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
        kind, namespace, name = change.place
        if kind == self.main:
            return [(namespace, name)]
        owner = controller_of(change.obj)
        if owner.get("kind") == self.owner_kind:
            return [(namespace, text(owner.get("name")))]
        return self.keys_of_orphan(change) if not owner else ()

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:  # noqa: ARG002  for those who adopt
        """Keys of the owners that may adopt an object without a controller."""
        return ()

    def reconcile(self) -> bool:
        keys = self.queue.taken(self.client.now)
        for namespace, name in keys:
            obj = self.client.get(self.main, namespace, name)
            if obj is None:
                self.gone((namespace, name))
            else:
                try:
                    self.sync(obj)
                except Denied:
                    self.later(obj, _AGAIN_SECONDS)
        return bool(keys)

    def next_wakeup(self) -> datetime | None:
        return self.queue.next_wakeup()

    def gone(self, key: Key) -> None:
        """The object is no more: forget what was kept about it."""

    def sync(self, obj: Object) -> None:
        raise NotImplementedError

    def later(self, obj: Object, seconds: float) -> None:
        """Look at it again after a while."""
        self.later_at(obj, after(self.client.now, seconds))

    def later_at(self, obj: Object, when: datetime) -> None:
        self.queue.add_at((namespace_of(obj), name_of(obj)), when)

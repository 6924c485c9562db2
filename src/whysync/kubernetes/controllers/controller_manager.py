"""All that acts by itself inside a cluster, as one participant of a timeline."""

from __future__ import annotations

import gc
import heapq
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.all_controllers import Controllers, all_controllers
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.controllers.controller import Controller
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.kubelet.nodes import ensure_nodes

_MOST_ROUNDS: Final = 1_000


@contextmanager
def _no_search_for_cycles() -> Generator[None]:
    """Objects are trees: looking for cycles among all of them again and again costs the most."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


class ControllersNeverSettle(Exception):
    """The controllers of the cluster never came to rest at one instant."""


class ControllerManager:
    """Follows the journal of the store, so that each controller watches only what concerns it."""

    def __init__(self, model: ApiServer, script: Behavior | None = None, *, nodes: int = 3) -> None:
        self.model = model
        self.script = script or Behavior()
        ensure_nodes(model, nodes)
        self.all: Controllers = all_controllers(model, self.script)
        self.logs = self.all.logs
        """What the containers print."""
        self._seen_changes = 0
        self._acting = [
            controller for controller in self.all.controllers if controller.name not in self.script.stopped
        ]
        self._all: list[Controller] = [one for one in self._acting if one.watches is None]
        self._by_kind: dict[Kind, list[Controller]] = {}
        for one in self._acting:
            for kind in one.watches or ():
                self._by_kind.setdefault(kind, []).append(one)
        self._late: list[tuple[datetime, int, int]] = []
        self._slow = {
            at: timedelta(seconds=self.script.slow[one.name])
            for at, one in enumerate(self._acting)
            if one.name in self.script.slow
        }

    def reconcile(self) -> bool:
        start = len(self.model.store.journal)
        with _no_search_for_cycles():
            for _ in range(_MOST_ROUNDS):
                if not self.step():
                    return len(self.model.store.journal) > start
        raise ControllersNeverSettle(f"no rest among the controllers at {self.model.clock.stamp()}")

    def step(self) -> bool:
        """One turn of the first controller that has something to do; false when all rest.

        Those that make pods come first in the cast, so that whoever counts ReplicaSets sees them settled:
        as in a real cluster, where the Deployment controller waits after each of its own conflicts.
        """
        self._tell()
        return any(one.reconcile() for one in self._acting)

    def next_wakeup(self) -> datetime | None:
        dates = [when for one in self._acting if (when := one.next_wakeup()) is not None]
        if self._late:
            dates.append(self._late[0][0])
        return min(dates, default=None)

    def _tell(self) -> None:
        journal = self.model.store.journal
        now = self.model.clock.now
        while self._late and self._late[0][0] <= now:
            _, at, who = heapq.heappop(self._late)
            self._acting[who].on_event(journal[at])
        while self._seen_changes < len(journal):
            change = journal[self._seen_changes]
            for one in (*self._by_kind.get(change.place[0], ()), *self._all):
                self._hand(one, change, now)
            self._seen_changes += 1

    def _hand(self, one: Controller, change: Change, now: datetime) -> None:
        if self._slow:
            who = self._acting.index(one)
            if who in self._slow:
                heapq.heappush(self._late, (now + self._slow[who], self._seen_changes, who))
                return
        one.on_event(change)

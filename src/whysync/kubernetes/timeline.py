"""Time on a model: whoever acts by itself takes its turn, then the clock jumps to when the next one is due.

Nothing waits: an hour in which nothing happens costs nothing. The order of the participants is the order in
which they act at one instant, so the same start gives the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from whysync.kubernetes.clock import Clock

_MOST_ROUNDS: Final = 1000


class Participant(Protocol):
    """Someone who acts by itself: controllers, Argo CD, a person with a plan."""

    def reconcile(self) -> bool:
        """Do all that is due now; true where anything was changed."""
        ...

    def next_wakeup(self) -> datetime | None:
        """When it acts next if nothing else happens; `None` means never."""
        ...


class NeverSettles(Exception):
    """At one instant the participants, or the controllers of a cluster, never come to rest: each undoes what
    another does."""


class Timeline:
    def __init__(self, clock: Clock, participants: Sequence[Participant]) -> None:
        self.clock = clock
        self._participants = participants

    def settle(self) -> None:
        """All that happens at this instant."""
        for _ in range(_MOST_ROUNDS):
            changed = [participant.reconcile() for participant in self._participants]
            if not any(changed):
                return
        raise NeverSettles(f"no rest at {self.clock.stamp()} after {_MOST_ROUNDS} rounds")

    def run(self, duration: timedelta, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; stops early and returns true when `until` becomes true."""
        end = self.clock.now + duration
        while True:
            self.settle()
            if until is not None and until():
                return True
            following = [
                when for participant in self._participants if (when := participant.next_wakeup()) is not None
            ]
            later = [when for when in following if when > self.clock.now]
            if not later or min(later) > end:
                self.clock.turn_to(end)
                return False
            self.clock.turn_to(min(later))

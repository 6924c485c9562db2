"""A simulated world under observation: what Argo CD showed of the app, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.diagnosis.symptom import APP_DIFFERS, OPERATION, SymptomId
from whysync.json_tree import Object
from whysync.proofs.observations import Signs, signs_of
from whysync.proofs.world import SimulatedCase

_MOST_SYNCS: Final = 40
"""So many syncs of one app in one run are a war, and enough of it has been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    at: datetime
    sync: str
    health: str
    signs: Signs
    number: int = 0
    """Of Argo CD's moments before it: within one instant, they tell the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedAction:
    """What somebody did to the world, in words; `refused` is what came back, where it failed."""

    at: datetime
    text: str
    refused: str = ""
    number: int = 0


class Observer:
    def __init__(self, world: SimulatedCase) -> None:
        self.world = world
        self.began = world.simulation.clock.now
        self.glimpses: list[Sample] = []
        self.deeds: list[ObservedAction] = []
        self._seen: Object | None = None
        self.look()
        world.simulation.timeline.settle()
        self.look()
        self.at_first = self.signs
        """What is to be seen once Argo CD has looked; the first glimpse is what the facts say."""

    @property
    def now(self) -> datetime:
        return self.world.simulation.clock.now

    @property
    def moments(self) -> list[TraceEvent]:
        """What Argo CD did since the beginning; of this app."""
        return [one for one in self.world.simulation.argocd.trace if one.app == self.world.app]

    @property
    def starts(self) -> list[datetime]:
        """Of syncs."""
        return [moment.at for moment in self.moments if moment.what is TraceKind.STARTED]

    @property
    def signs(self) -> Signs:
        return self.glimpses[-1].signs

    def look(self) -> None:
        """Keeps what is to be seen, where that has changed."""
        body = self.world.simulation.argocd.applications.get(self.world.app)
        if body is None or body is self._seen:
            return
        self._seen = body
        sync, health = self.world.codes
        glimpse = Sample(
            at=self.now, sync=sync, health=health, signs=signs_of(self.world), number=len(self.moments)
        )
        last = self.glimpses[-1] if self.glimpses else None
        if last is None or (last.sync, last.health, last.signs) != (
            glimpse.sync,
            glimpse.health,
            glimpse.signs,
        ):
            self.glimpses.append(glimpse)

    def run(self, duration: timedelta, until: Callable[[], bool] | None = None) -> bool:
        """Lets time pass; true where `until` came to hold. Raises `Restless`."""

        def holds() -> bool:
            self.look()
            return (until is not None and until()) or len(self.starts) > _MOST_SYNCS

        self.world.until(holds, duration)
        self._seen = None  # objects may have changed though the Application has not
        self.look()
        return until is not None and until()

    def since(self, instant: datetime) -> list[Sample]:
        """What was seen from then on, with what was to be seen just then."""
        later = [glimpse for glimpse in self.glimpses if glimpse.at > instant]
        before = [glimpse for glimpse in self.glimpses if glimpse.at <= instant]
        return [*before[-1:], *later]

    # --- what is so now --------------------------------------------------------------------------

    @property
    def is_calm(self) -> bool:
        """Synced and healthy, and nothing under way."""
        return not self.world.is_operating and self.world.codes == ("Synced", "Healthy") and not self.signs

    @property
    def is_busy(self) -> bool:
        """A sync runs, or something is on its way up."""
        return self.world.is_operating or self.world.codes[1] == "Progressing"

    @property
    def sync_ended(self) -> bool:
        return not self.world.is_operating

    def lasting(self, signs: Signs, since: datetime) -> Signs:
        """Those that are to be seen at the end, or that came back at least once, from an instant on.

        An operation that merely runs is no sign of trouble, as long as it ends.
        """
        seen = self.since(since)
        found = set(signs & self.signs)
        for sign in signs - found - {OPERATION}:
            back = any(sign not in before.signs and sign in after.signs for before, after in pairwise(seen))
            if back or self._flickers(sign, since):
                found.add(sign)
        return frozenset(found)

    def _flickers(self, sign: SymptomId, since: datetime) -> bool:
        """Did it come and go within one instant? Self-heal may put right at once what it sees."""
        moments = [moment for moment in self.moments if moment.at > since]
        differed = {
            moment.at
            for moment in moments
            if moment.what is TraceKind.STATUS and moment.text.startswith("OutOfSync")
        }
        if sign == APP_DIFFERS:
            return bool(differed)
        return any(
            sign == SymptomId.differs(moment.about.key) and not moment.text.endswith("unchanged")
            for moment in moments
            if moment.what is TraceKind.RESULT and moment.about is not None and moment.at in differed
        )

    def held_until(self, signs: Signs, since: datetime, end: datetime) -> bool:
        """Was none of them to be seen from one instant to the other?"""
        return not any(signs & one.signs for one in self.since(since) if one.at <= end)

    def deed(self, words: str, refused: str = "") -> None:
        self.deeds.append(ObservedAction(at=self.now, text=words, refused=refused, number=len(self.moments)))

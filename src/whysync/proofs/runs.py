"""Courses of events: what becomes of the app without a fix, and with it.

Without: Argo CD looks and heals by itself, and, told apart from that, a person tries a plain sync. With: the
fix is carried out, what a person would do next is done, and then time passes in rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from whysync.argocd.server.server import Denied
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import OPERATION
from whysync.kubernetes.api.ref import Key
from whysync.proofs.apply_fix import Player, touched_by
from whysync.proofs.observations import Signs
from whysync.proofs.observer import Observer
from whysync.proofs.world import simulated

ROUNDS: Final = 3
_WHILE: Final = timedelta(minutes=15)
_LONGER: Final = timedelta(hours=2)
"""As long as a Job may lie that is deleted when its time is over."""
_SOON: Final = timedelta(minutes=4)
_SETTLES: Final = timedelta(minutes=20)
_PATIENCE: Final = timedelta(hours=3)
"""As long is waited for what is to end by itself, such as a sync window."""
_LOOP: Final = 4
"""After so many syncs that Argo CD starts by itself, a loop has shown itself."""


@dataclass(slots=True, kw_only=True)
class Run:
    watch: Observer
    since: datetime
    """From here on it counts what is to be seen."""
    refused: str = ""
    """Why the person's sync was refused."""
    extended: bool = False

    def shows(self, signs: Signs) -> Signs:
        """Those of the signs that stayed, or came back."""
        found = self.watch.lasting(signs, self.since)
        if not found and not self.extended and len(self.watch.starts) <= _LOOP:
            self.extended = True
            self.watch.run(_LONGER, lambda: bool(self.watch.signs & (signs - {OPERATION})))
            found = self.watch.lasting(signs, self.since)
        return found


class Without:
    """What happens without a fix; each course is run once, and only when it is asked for."""

    def __init__(
        self, case: Case, only: frozenset[Key] | None = None, touched: frozenset[Key] = frozenset()
    ) -> None:
        self._case = case
        self._only = only
        self._touched = touched

    @cached_property
    def waiting(self) -> Run:
        """Nobody does anything; Argo CD does what it does by itself."""
        watch = Observer(simulated(self._case, only=self._only, touched=self._touched))
        watch.run(_WHILE, lambda: len(watch.starts) > _LOOP)
        return Run(watch=watch, since=watch.began)

    @cached_property
    def syncing(self) -> Run:
        """A person tries a plain sync, and ends the one that hangs before it."""
        watch = Observer(simulated(self._case, only=self._only, touched=self._touched))
        player = Player(watch)
        _end_what_hangs(watch, player)
        refused = player.sync()
        since = watch.now
        watch.run(_WHILE, lambda: len(watch.starts) > _LOOP)
        return Run(watch=watch, since=since, refused=refused)


def _end_what_hangs(watch: Observer, player: Player) -> None:
    if watch.world.is_operating:
        try:
            player.terminate()
        except Denied as problem:
            watch.deed("argocd app terminate-op", str(problem).rpartition("desc = ")[2])


@dataclass(slots=True, kw_only=True)
class With:
    """`synced`: a sync took part in it. `gaps` is what was taken for granted on the way."""

    watch: Observer
    player: Player
    settled: datetime
    last_sync: datetime
    """When the sync of the last round began: what held until then held without one."""
    written: int = 0
    """How long the journal of writes was when all had settled."""
    synced: bool = False
    gaps: tuple[str, ...] = ()
    refused: list[str] = field(default_factory=list[str])


def with_fix(
    case: Case,
    fix: Fix,
    wanted: Signs,
    only: frozenset[Key] | None = None,
    touched: frozenset[Key] = frozenset(),
    *,
    syncs: bool = False,
) -> With:
    """Raises `Unplayable`, `Refuted`, `NotSimulated` and `Restless`. `syncs`: a sync belongs to it."""
    watch = Observer(simulated(case, touched=touched_by(fix, case) | touched, only=only))
    player = Player(watch)
    was_operating = watch.world.is_operating
    player.carry_out(fix)
    watch.run(_SOON, lambda: _is_over(watch, wanted))
    if (syncs or wanted & watch.signs) and not player.syncs:
        _sync_by_hand(watch, player, hangs=was_operating)
    player.follow(fix)
    watch.run(_SETTLES, lambda: watch.is_calm or len(watch.starts) > 2 * _LOOP)
    return _in_rounds(case, watch, player)


def waited(case: Case, wanted: Signs, only: frozenset[Key] | None = None) -> With:
    """Nothing is done but to wait until it is over. Raises `NotSimulated` and `Restless`."""
    watch = Observer(simulated(case, only=only))
    watch.deed("waiting")
    watch.run(_PATIENCE, lambda: not (wanted & watch.signs or watch.is_busy))
    return _in_rounds(case, watch, Player(watch))


def _in_rounds(case: Case, watch: Observer, player: Player) -> With:
    settled, written = watch.now, len(watch.world.simulation.model.store.journal)
    round = _round(case)
    watch.run(round)
    watch.run(round)
    last = watch.now
    refused = player.sync() if not watch.world.is_operating else "a sync runs already"
    watch.run(round)
    return With(
        watch=watch,
        player=player,
        settled=settled,
        last_sync=last,
        written=written,
        synced=any(at <= settled for at in watch.starts),
        gaps=tuple(dict.fromkeys((*player.gaps, *watch.world.makers.gaps))),
        refused=[refused] if refused else [],
    )


def _sync_by_hand(watch: Observer, player: Player, *, hangs: bool) -> None:
    """What a person does when Argo CD does not get on by itself."""
    if watch.world.is_operating and not hangs:
        watch.run(_SETTLES, lambda: watch.sync_ended)
    _end_what_hangs(watch, player)
    player.sync()


def _is_over(watch: Observer, wanted: Signs) -> bool:
    return watch.is_calm or not (wanted & watch.signs or watch.is_busy)


def _round(case: Case) -> timedelta:
    """As long as it takes until Argo CD surely has looked again."""
    told = case.argocd.reconciliation_seconds + case.argocd.reconciliation_jitter_seconds
    return timedelta(seconds=min(max(told, 60), 600))

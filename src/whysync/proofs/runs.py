"""Run the simulation without a fix and with it, and describe both runs as a timeline.

Without a fix, Argo CD refreshes and self-heals; in a second run, a user starts a plain sync. With a fix, the
fix is applied, then what a user would do next, and then time passes in rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.server.server import Denied
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.freshness import sync_loop_of
from whysync.diagnosis.symptom import OPERATION, SymptomKind
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, same
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key
from whysync.proofs.apply_fix import Player, touched_by
from whysync.proofs.observations import Observer, Sample, Signs
from whysync.proofs.other_writers import OtherWriter
from whysync.proofs.simulated_case import simulated
from whysync.proofs.sync_effects import period_of

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
    returning: bool = True,
) -> With:
    """Raises `Unplayable`, `Refuted`, `NotSimulated`, `TimelineNeverSettles`. `syncs`: it includes a sync.

    Without `returning`, writers that were seen once do not write again.
    """
    every = touched_by(fix, case) | touched
    watch = Observer(simulated(case, touched=every, only=only, returning=returning))
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
    """Nothing is done but to wait until it is over. Raises `NotSimulated` and `TimelineNeverSettles`."""
    watch = Observer(simulated(case, only=only))
    watch.deed("waiting")
    watch.run(_PATIENCE, lambda: not (wanted & watch.signs or watch.is_busy))
    return _in_rounds(case, watch, Player(watch))


def reaches_cluster(case: Case, drift: Drift, fix: Fix | None, only: frozenset[Key] | None = None) -> bool:
    """Does a later commit that changes the field still change it in the cluster, with the fix in place?

    Raises `Unplayable`, `Refuted`, `NotSimulated`, `TimelineNeverSettles`.
    """
    touched = frozenset({drift.key, drift.desired.key})
    if fix is not None:
        touched |= touched_by(fix, case)
    watch = Observer(simulated(case, touched=touched, only=only, returning=False))
    player = Player(watch)
    if fix is not None:
        player.carry_out(fix)
    _end_what_hangs(watch, player)
    player.sync()
    watch.run(_SOON)
    before = live_value(watch, drift)
    changed = case.desired_of(drift.ref.key)
    release = Set(pointer=drift.pointer, value=_another_value(drift.desired_value))
    watch.world.push(
        manifest.with_body(edited(manifest.body, [release])) if manifest is changed else manifest
        for manifest in case.desired
    )
    watch.world.simulation.argocd.refresh(watch.world.app, hard=False)
    player.sync()
    watch.run(_SOON)
    return not same(live_value(watch, drift), before)


def can_be_released(drift: Drift) -> bool:
    """Is it a plain value in Git, which a later commit may change?"""
    return isinstance(drift.desired_value, str | int) and not isinstance(drift.desired_value, bool)


def _another_value(value: Json | Missing) -> Json:
    return value + 1 if isinstance(value, int) else f"{value}-next"


def live_value(watch: Observer, drift: Drift) -> Json | Missing:
    live = watch.world.objects().get(drift.ref.key)
    return pointers.resolve(live, drift.pointer) if live is not None else MISSING


def _in_rounds(case: Case, watch: Observer, player: Player) -> With:
    settled, written = watch.now, len(watch.world.simulation.api_server.store.journal)
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


_MOST: Final = 12
_LONGEST: Final = 160
_COMMIT: Final = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    at: datetime
    order: tuple[int, int]
    text: str


def trace_of(without: Run, course: With) -> tuple[str, ...]:
    """`+m:ss` is simulated time since the facts were taken."""
    return (
        "without the fix",
        *_lines(without.watch),
        *_loop(without.watch),
        "with the fix",
        *_lines(course.watch, until=course.settled),
        f"  {_since(course.watch, course.watch.now):>6}  {_state(course.watch)},"
        f" after {ROUNDS} rounds more, the last with a sync",
    )


def _lines(watch: Observer, until: datetime | None = None) -> Iterator[str]:
    events = sorted(_events(watch), key=lambda one: (one.at, one.order))
    shown = [event for event in events if until is None or event.at <= until]
    told: list[str] = []
    for one in shown:
        line = f"  {_since(watch, one.at):>6}  {one.text}"
        if not told or told[-1] != line:
            told.append(line)
    yield from told[:_MOST]
    if len(told) > _MOST:
        yield f"       …  {len(told) - _MOST} more, the last: {told[-1].strip()}"


def _events(watch: Observer) -> Iterator[_Event]:
    for deed in watch.deeds:
        words = f"{deed.text}: refused: {deed.refused}" if deed.refused else deed.text
        yield _Event(at=deed.at, order=(deed.number, 2), text=_brief(words))
    for number, moment in enumerate(watch.moments, start=1):
        if moment.what is TraceKind.STARTED:
            words = _COMMIT.sub(r"\1", moment.text) or "a sync starts"
            yield _Event(at=moment.at, order=(number, 0), text=_brief(words))
        elif moment.what is TraceKind.ENDED:
            failed = moment.text if moment.phase != "Succeeded" else ""
            words = f"sync {moment.phase}" if moment.phase else "sync ends"
            yield _Event(
                at=moment.at, order=(number, 0), text=_brief(f"{words}: {failed}" if failed else words)
            )
    first = watch.glimpses[0]
    yield _Event(at=first.at, order=(0, 0), text=_codes(first))
    for before, after in pairwise(watch.glimpses):
        if (before.sync, before.health) != (after.sync, after.health):
            yield _Event(at=after.at, order=(after.number, 1), text=_codes(after))


def _codes(glimpse: Sample) -> str:
    return f"{glimpse.sync or '?'} · {glimpse.health or '?'}"


def _loop(watch: Observer) -> Iterator[str]:
    """Two writers and one field, with the time between two rounds: as history shows it, or the model."""
    gaps = [later - earlier for earlier, later in pairwise(watch.starts)]
    if len(gaps) < 2:
        return
    differing = {
        sign.key
        for glimpse in watch.glimpses
        for sign in glimpse.signs
        if sign.kind is SymptomKind.DIFFERS and sign.key is not None
    }
    writers = [one for one in watch.world.writers.all if one.again and one.ref.key in differing]
    seen = sync_loop_of(watch.world.case)
    period = (seen.period if seen is not None else None) or period_of(tuple(writers), gaps) or gaps[0]
    if not writers:
        yield f"    loop  Argo CD syncs again about every {_brief_time(period)}"
    for writer in writers[:3]:
        yield f"    loop  about every {_brief_time(period)}: {_both(watch, writer)}"


def _both(watch: Observer, other: OtherWriter) -> str:
    drift = next(
        (
            drift
            for drift in watch.world.case.drifts
            if drift.ref.key == other.ref.key and drift.pointer == other.pointer
        ),
        None,
    )
    wanted = _value(drift.desired_value) if drift is not None else "Git's value"
    found = _value(drift.live_value) if drift is not None else "its own"
    return _brief(f"{other.pointer}: Argo CD sets {wanted}, {other.who} sets {found} again")


def _value(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    return str(value) if not isinstance(value, dict | list) else "another value"


def _state(watch: Observer) -> str:
    return " · ".join(code or "?" for code in watch.world.codes)


def _since(watch: Observer, at: datetime) -> str:
    seconds = int((at - watch.began).total_seconds())
    return f"+{seconds // 60}:{seconds % 60:02}"


def _brief_time(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _brief(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

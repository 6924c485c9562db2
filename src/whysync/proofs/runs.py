"""Run the simulation without a fix and with it, and describe both runs as a timeline.

Without a fix, Argo CD refreshes and self-heals; in a second run, a user starts a plain sync. With a fix, the
fix is applied, then what a user would do next, and then time passes in rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

import msgspec

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
from whysync.proofs.apply_fix import FixRunner, touched_by
from whysync.proofs.observations import Observer, Sample, SymptomIds
from whysync.proofs.other_writers import OtherWriter
from whysync.proofs.proof_results import ROUNDS
from whysync.proofs.simulated_case import simulated
from whysync.proofs.sync_effects import period_of

_BASELINE_TIME: Final = timedelta(minutes=15)
_EXTENDED_TIME: Final = timedelta(hours=2)
"""Long enough for the TTL controller to delete a finished Job."""
_REACTION_TIME: Final = timedelta(minutes=4)
_SETTLE_TIME: Final = timedelta(minutes=20)
_WAIT_TIME: Final = timedelta(hours=3)
"""How long to wait for what ends by itself, such as a sync window."""
_LOOP_SYNCS: Final = 4
"""More automatic syncs than this are a loop."""


class Run(msgspec.Struct, kw_only=True):
    """A run without a fix."""

    observer: Observer
    since: datetime
    """Symptoms count from this time on."""
    refused: str = ""
    """Why the manual sync was refused."""
    extended: bool = False

    def persisting(self, symptoms: SymptomIds) -> SymptomIds:
        """The symptoms that stayed or came back; the run is extended once if there are none."""
        persisting = self.observer.persisting(symptoms, self.since)
        if not persisting and not self.extended and len(self.observer.sync_starts) <= _LOOP_SYNCS:
            self.extended = True
            self.observer.run(_EXTENDED_TIME, lambda: bool(self.observer.symptoms & (symptoms - {OPERATION})))
            persisting = self.observer.persisting(symptoms, self.since)
        return persisting


class BaselineRuns:
    """The runs without a fix; each is simulated once, on first use."""

    def __init__(
        self, case: Case, only: frozenset[Key] | None = None, touched: frozenset[Key] = frozenset()
    ) -> None:
        self._case = case
        self._only = only
        self._touched = touched

    @cached_property
    def no_action(self) -> Run:
        """Nobody intervenes; Argo CD refreshes and self-heals."""
        observer = Observer(simulated(self._case, only=self._only, touched=self._touched))
        observer.run(_BASELINE_TIME, lambda: len(observer.sync_starts) > _LOOP_SYNCS)
        return Run(observer=observer, since=observer.started_at)

    @cached_property
    def manual_sync(self) -> Run:
        """A user terminates a running sync, if any, and starts a plain sync."""
        observer = Observer(simulated(self._case, only=self._only, touched=self._touched))
        runner = FixRunner(observer)
        _terminate_running_sync(observer, runner)
        refused = runner.sync()
        since = observer.now
        observer.run(_BASELINE_TIME, lambda: len(observer.sync_starts) > _LOOP_SYNCS)
        return Run(observer=observer, since=since, refused=refused)


def _terminate_running_sync(observer: Observer, runner: FixRunner) -> None:
    if observer.world.is_operating:
        try:
            runner.terminate()
        except Denied as problem:
            observer.record_action("argocd app terminate-op", problem.description)


class FixRun(msgspec.Struct, kw_only=True):
    """A run with a fix. `synced`: it included a sync. `gaps`: what was assumed."""

    observer: Observer
    runner: FixRunner
    settled_at: datetime
    last_sync_at: datetime
    """When the sync of the last round started."""
    journal_length: int = 0
    """Length of the journal of writes when the run had settled."""
    synced: bool = False
    gaps: tuple[str, ...] = ()
    refused: list[str] = msgspec.field(default_factory=list[str])


def run_with_fix(
    case: Case,
    fix: Fix,
    explained: SymptomIds,
    only: frozenset[Key] | None = None,
    touched: frozenset[Key] = frozenset(),
    *,
    syncs: bool = False,
    assume_repeats: bool = True,
) -> FixRun:
    """Apply the fix, sync if needed, and run the rounds. `syncs`: a sync is always included.

    Without `assume_repeats`, writers that were seen once do not write again. Raises `NotExecutable`,
    `StepRefused`, `NotSimulated`, `NeverSettles`.
    """
    touched |= touched_by(fix, case)
    observer = Observer(simulated(case, touched=touched, only=only, assume_repeats=assume_repeats))
    runner = FixRunner(observer)
    was_operating = observer.world.is_operating
    runner.apply(fix)
    observer.run(_REACTION_TIME, lambda: _is_resolved(observer, explained))
    if (syncs or explained & observer.symptoms) and not runner.syncs:
        _sync_manually(observer, runner, was_running=was_operating)
    runner.run_follow_up(fix)
    observer.run(
        _SETTLE_TIME, lambda: observer.is_synced_and_healthy or len(observer.sync_starts) > 2 * _LOOP_SYNCS
    )
    return _run_rounds(case, observer, runner)


def run_waiting(case: Case, explained: SymptomIds, only: frozenset[Key] | None = None) -> FixRun:
    """Wait until the problem is over, then run the rounds. Raises `NotSimulated`, `NeverSettles`."""
    observer = Observer(simulated(case, only=only))
    observer.record_action("waiting")
    observer.run(_WAIT_TIME, lambda: not (explained & observer.symptoms or observer.is_progressing))
    return _run_rounds(case, observer, FixRunner(observer))


def reaches_cluster(case: Case, drift: Drift, fix: Fix | None, only: frozenset[Key] | None = None) -> bool:
    """Does a later commit that changes the field still change it in the cluster, with the fix in place?

    Raises `NotExecutable`, `StepRefused`, `NotSimulated`, `NeverSettles`.
    """
    touched = frozenset({drift.key, drift.desired.key})
    if fix is not None:
        touched |= touched_by(fix, case)
    observer = Observer(simulated(case, touched=touched, only=only, assume_repeats=False))
    runner = FixRunner(observer)
    if fix is not None:
        runner.apply(fix)
    _terminate_running_sync(observer, runner)
    runner.sync()
    observer.run(_REACTION_TIME)
    before = live_value(observer, drift)
    released = case.desired_of(drift.ref.key)
    release = Set(pointer=drift.pointer, value=_another_value(drift.desired_value))
    observer.world.push(
        manifest.with_body(edited(manifest.body, [release])) if manifest is released else manifest
        for manifest in case.desired
    )
    observer.world.simulation.argocd.refresh(observer.world.app, hard=False)
    runner.sync()
    observer.run(_REACTION_TIME)
    return not same(live_value(observer, drift), before)


def can_be_released(drift: Drift) -> bool:
    """Is the field a scalar in Git that a later commit may change?"""
    return isinstance(drift.desired_value, str | int) and not isinstance(drift.desired_value, bool)


def _another_value(value: Json | Missing) -> Json:
    return value + 1 if isinstance(value, int) else f"{value}-next"


def live_value(observer: Observer, drift: Drift) -> Json | Missing:
    live = observer.world.objects().get(drift.ref.key)
    return pointers.resolve(live, drift.pointer) if live is not None else MISSING


def _run_rounds(case: Case, observer: Observer, runner: FixRunner) -> FixRun:
    settled_at, journal_length = observer.now, len(observer.world.simulation.api_server.store.journal)
    round = _round(case)
    observer.run(round)
    observer.run(round)
    last_sync_at = observer.now
    refused = runner.sync() if not observer.world.is_operating else "a sync is already running"
    observer.run(round)
    return FixRun(
        observer=observer,
        runner=runner,
        settled_at=settled_at,
        last_sync_at=last_sync_at,
        journal_length=journal_length,
        synced=any(at <= settled_at for at in observer.sync_starts),
        gaps=tuple(dict.fromkeys((*runner.gaps, *observer.world.crd_creators.gaps))),
        refused=[refused] if refused else [],
    )


def _sync_manually(observer: Observer, runner: FixRunner, *, was_running: bool) -> None:
    """What a user does if Argo CD does not sync by itself; a sync that the fix started may finish first."""
    if observer.world.is_operating and not was_running:
        observer.run(_SETTLE_TIME, lambda: observer.sync_ended)
    _terminate_running_sync(observer, runner)
    runner.sync()


def _is_resolved(observer: Observer, explained: SymptomIds) -> bool:
    return observer.is_synced_and_healthy or not (explained & observer.symptoms or observer.is_progressing)


def _round(case: Case) -> timedelta:
    """The longest time between two reconciliations by Argo CD, within limits."""
    seconds = case.argocd.reconciliation_seconds + case.argocd.reconciliation_jitter_seconds
    return timedelta(seconds=min(max(seconds, 60), 600))


_MAX_LINES: Final = 12
_MAX_LINE_LENGTH: Final = 160
_COMMIT: Final = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    order: tuple[int, int]
    text: str


def trace_of(without: Run, run: FixRun) -> tuple[str, ...]:
    """Both runs as a timeline; `+m:ss` is simulated time since the facts were collected."""
    return (
        "without the fix",
        *_lines(without.observer),
        *_loop_lines(without.observer),
        "with the fix",
        *_lines(run.observer, until=run.settled_at),
        f"  {_elapsed(run.observer, run.observer.now):>6}  {_final_state(run.observer)},"
        f" after {ROUNDS} more rounds, the last with a sync",
    )


def _lines(observer: Observer, until: datetime | None = None) -> Iterator[str]:
    lines: list[str] = []
    for event in sorted(_events(observer), key=lambda event: (event.at, event.order)):
        line = f"  {_elapsed(observer, event.at):>6}  {event.text}"
        if (until is None or event.at <= until) and (not lines or lines[-1] != line):
            lines.append(line)
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"       …  {len(lines) - _MAX_LINES} more, the last: {lines[-1].strip()}"


def _events(observer: Observer) -> Iterator[_Event]:
    for action in observer.actions:
        text = f"{action.text}: refused: {action.refused}" if action.refused else action.text
        yield _Event(at=action.at, order=(action.number, 2), text=_shortened_line(text))
    for number, event in enumerate(observer.events, start=1):
        if event.kind is TraceKind.STARTED:
            text = _COMMIT.sub(r"\1", event.text) or "a sync starts"
            yield _Event(at=event.at, order=(number, 0), text=_shortened_line(text))
        elif event.kind is TraceKind.ENDED:
            error = event.text if event.phase != "Succeeded" else ""
            text = f"sync {event.phase}" if event.phase else "sync ends"
            yield _Event(
                at=event.at, order=(number, 0), text=_shortened_line(f"{text}: {error}" if error else text)
            )
    first = observer.samples[0]
    yield _Event(at=first.at, order=(0, 0), text=_sample_state(first))
    for before, after in pairwise(observer.samples):
        if (before.sync, before.health) != (after.sync, after.health):
            yield _Event(at=after.at, order=(after.number, 1), text=_sample_state(after))


def _sample_state(sample: Sample) -> str:
    return f"{sample.sync or '?'} · {sample.health or '?'}"


def _loop_lines(observer: Observer) -> Iterator[str]:
    """Fields that Argo CD and another writer keep changing; the period is from history or the simulation."""
    gaps = [later - earlier for earlier, later in pairwise(observer.sync_starts)]
    if len(gaps) < 2:
        return
    differing = {
        symptom.key
        for sample in observer.samples
        for symptom in sample.symptoms
        if symptom.kind is SymptomKind.DIFFERS and symptom.key is not None
    }
    writers = [
        writer for writer in observer.world.writers.all if writer.repeats and writer.ref.key in differing
    ]
    loop = sync_loop_of(observer.world.case)
    period = (loop.period if loop is not None else None) or period_of(tuple(writers), gaps) or gaps[0]
    if not writers:
        yield f"    loop  Argo CD syncs again about every {_period_text(period)}"
    for writer in writers[:3]:
        yield f"    loop  about every {_period_text(period)}: {_loop_text(observer, writer)}"


def _loop_text(observer: Observer, writer: OtherWriter) -> str:
    drift = next(
        (
            drift
            for drift in observer.world.case.drifts
            if drift.ref.key == writer.ref.key and drift.pointer == writer.pointer
        ),
        None,
    )
    desired = _value(drift.desired_value) if drift is not None else "Git's value"
    live = _value(drift.live_value) if drift is not None else "its own"
    return _shortened_line(f"{writer.pointer}: Argo CD sets {desired}, {writer.who} sets {live} again")


def _value(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    return str(value) if not isinstance(value, dict | list) else "another value"


def _final_state(observer: Observer) -> str:
    return " · ".join(code or "?" for code in observer.world.sync_and_health)


def _elapsed(observer: Observer, at: datetime) -> str:
    seconds = int((at - observer.started_at).total_seconds())
    return f"+{seconds // 60}:{seconds % 60:02}"


def _period_text(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _shortened_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…"

"""The watching thread of one source: polls it, diagnoses what changed, and records it in the history."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.errors import WhysyncError
from whysync.history.history import History
from whysync.history.model import AppKey, Look, Retention
from whysync.kubernetes.apiserver.managed_fields import forget_cached
from whysync.watch.fleet import AppState, Fleet, SourceHealth, WithoutDetails, state_of
from whysync.watch.looks import look_of
from whysync.watch.sources import Poll, Source, key_of

log = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 300.0
_REACTION: Final = 0.2
"""Seconds until a request to look at an app is noticed."""
_LONGEST_REST: Final = 1.0
"""Seconds between two proofs, at most."""
_PROOF_INTERVAL: Final = timedelta(minutes=1)
"""Proofs of an app whose findings stay the same are simulated again after this time."""
_PURGE_INTERVAL: Final = timedelta(hours=1)


class Watcher:
    """`step` polls once; `run` repeats it until it is stopped."""

    def __init__(self, source: Source, fleet: Fleet, recorder: Recorder, *, prove: bool = True) -> None:
        self._source = source
        self._fleet = fleet
        self._recorder = recorder
        self._prove = prove
        self._failures = 0
        self._compared_with_history = False
        self._asked: dict[tuple[str, str], None] = {}
        self._wake = threading.Event()
        self._unproven: dict[AppKey, None] = {}
        self._proven_at: dict[AppKey, datetime] = {}
        fleet.put_source(SourceHealth(name=source.name, description=source.description))

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            pause = self.step()
            until = time.monotonic() + pause
            while self._unproven and time.monotonic() < until and not stop.is_set():
                began = time.monotonic()
                self.prove_next()
                if self._is_woken:  # a change is shown before the next proof
                    break
                # many proofs leave half of the time to the pages
                stop.wait(min(time.monotonic() - began, _LONGEST_REST))
            self._wait(stop, until)

    @property
    def instance(self) -> str:
        return self._source.instance

    def look_at(self, namespace: str, name: str) -> None:
        """Look at this app soon instead of when it changes; an empty namespace is any. For other threads."""
        self._asked[(namespace, name)] = None
        self._wake.set()

    def wake(self) -> None:
        """Poll the source now. For other threads."""
        self._wake.set()

    @property
    def _is_woken(self) -> bool:
        return self._wake.is_set() and not self._failures

    def _wait(self, stop: threading.Event, until: float) -> None:
        """Until the next poll; a source that fails is not asked before its pause is over."""
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            if self._is_woken:
                return
            stop.wait(min(left, _REACTION))

    def step(self) -> float:
        """Poll the source once; returns the number of seconds until the next poll."""
        self._wake.clear()
        asked = tuple(self._asked)
        try:
            for namespace, name in asked:
                self._source.look_again(namespace, name)
            for poll in self._source.poll():
                self._apply(poll)
        except WhysyncError as problem:
            return self._failed(problem.what, problem.why, problem.next)
        except Exception as problem:  # a thread that ends silently would leave an old page
            log.exception("polling %s failed", self._source.name)
            return self._failed(f"reading {self._source.description} failed", repr(problem), "see the log")
        self._failures = 0
        for key in asked:
            self._asked.pop(key, None)
        health = self._health()
        self._fleet.put_source(
            replace(
                health,
                read_at=self._fleet.now(),
                problem="",
                advice="",
                failing_since=None,
                retry_at=None,
                reads=health.reads + 1,
                apps=len(self._known()),
            )
        )
        self._recorder.settle(self._fleet.now())
        return self._source.interval

    def _known(self) -> set[AppKey]:
        return {key for name in self._source.instances() for key in self._fleet.keys_of(name)}

    def _health(self) -> SourceHealth:
        return next(source for source in self._fleet.sources() if source.name == self._source.name)

    def _failed(self, what: str, why: str, advice: str) -> float:
        """Show the problem, keep the last known state, and try again after a growing pause."""
        pause = min(_FIRST_PAUSE * 2**self._failures, _LONGEST_PAUSE)
        self._failures += 1
        health, now = self._health(), self._fleet.now()
        self._fleet.put_source(
            replace(
                health,
                problem=f"{what}: {why}" if why else what,
                advice=advice,
                failing_since=health.failing_since or now,
                retry_at=now + timedelta(seconds=pause),
                failures=health.failures + 1,
            )
        )
        log.warning("%s: %s; retrying in %.0f s", self._source.name, what, pause)
        return pause

    def _apply(self, poll: Poll) -> None:
        if poll.present is not None:
            gone = (self._known() | self._earlier_apps()) - poll.present
            if gone:
                self._fleet.remove(gone)
                self._recorder.forget(gone, self._fleet.now())
        if not poll.cases:
            return
        states = [self._diagnosed(case, proven=False) for case in poll.cases]
        self._recorder.record(map(look_of, states))
        without_details = WithoutDetails()
        for state in map(self._with_earlier_proofs, states):
            self._fleet.put((without_details.of(state),))
            proven_at = self._proven_at.get(state.key) if state.proven else None
            if not state.broken:
                self._unproven.pop(state.key, None)
            elif proven_at is None or state.seen_at - proven_at >= _PROOF_INTERVAL:
                self._unproven[state.key] = None

    def _earlier_apps(self) -> frozenset[AppKey]:
        """Apps that the history knows, once: those that were deleted while no process ran have ended."""
        if self._compared_with_history:
            return frozenset()
        known = self._recorder.known_apps(self._source.instances())
        self._compared_with_history = known is not None
        return known or frozenset()

    def _with_earlier_proofs(self, state: AppState) -> AppState:
        """Keep the proofs of an app whose findings are the same until they are simulated again."""
        before = self._fleet.app(state.key)
        if before is None or not before.proven or not state.broken:
            return state
        observed = [finding for finding in before.report.findings if not finding.predicted]
        if list(map(_identity, observed)) != list(map(_identity, state.report.findings)):
            return state
        report = replace(state.report, findings=before.report.findings, safety=before.report.safety)
        return replace(state, report=report, proven=True)

    def _diagnosed(self, case: Case, *, proven: bool) -> AppState:
        started = time.monotonic()
        [report] = app.diagnose((case,), prove=proven).apps
        self._fleet.diagnosis_times.add(time.monotonic() - started)
        return state_of(report, key_of(case, self._source.instance), seen_at=self._fleet.now(), proven=proven)

    def prove_next(self) -> None:
        """Simulate a sync and the fixes of one broken app; the page shows them when they are ready."""
        key = next(iter(self._unproven))
        del self._unproven[key]
        state = self._fleet.app(key)
        if state is not None and state.broken and self._prove:
            proven = self._diagnosed(state.report.case, proven=True)
            forget_cached()
            gc.collect(1)  # simulations have cycles, which would grow old and stay for long
            self._proven_at[key] = state.seen_at
            if self._fleet.app(key) is state:
                self._fleet.put((replace(proven, seen_at=state.seen_at),))


def _identity(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.verdict


class Recorder:
    """Writes what one source reports to the history.

    While the database is away, or another process records this source, the last look at each app waits.
    """

    def __init__(
        self, history: History, fleet: Fleet, retention: Retention | None = None, *, source: str = "argocd"
    ) -> None:
        self._history = history
        self._fleet = fleet
        self._source = source
        self._retention = retention or Retention()
        self._purged_at = datetime.min.replace(tzinfo=UTC)
        self._waiting: dict[AppKey, Look] = {}
        self._gone: dict[AppKey, datetime] = {}
        self._last_event: int | None = None
        self._lock = threading.Lock()

    def record(self, looks: Iterable[Look]) -> None:
        with self._lock:
            for look in looks:
                self._waiting[look.app] = look
                self._gone.pop(look.app, None)
            self._write(self._store)

    def forget(self, apps: Iterable[AppKey], at: datetime) -> None:
        with self._lock:
            for key in apps:
                self._waiting.pop(key, None)
                self._gone[key] = at
            self._write(self._store)

    def settle(self, now: datetime) -> None:
        """Close incidents that are over, and delete what is older than the retention."""

        def settle() -> tuple[int, ...]:
            changed = (*self._store(), *self._history.settle(now))
            if now - self._purged_at >= _PURGE_INTERVAL:
                self._history.purge(now, self._retention)
                self._purged_at = now
            return changed

        with self._lock:
            self._write(settle)

    def known_apps(self, instances: Iterable[str]) -> frozenset[AppKey] | None:
        """The apps at the end of the last process; `None` while the database is away."""
        try:
            return self._history.apps_of(instances)
        except WhysyncError as problem:
            self._unavailable(problem)
            return None

    def _store(self) -> tuple[int, ...]:
        changed = list(self._history.record(self._waiting.values()))
        for key, at in self._gone.items():
            changed += self._history.forget((key,), at)
        return tuple(changed)

    def _write(self, write: Callable[[], tuple[int, ...]]) -> None:
        """Write in one transaction, if it is our turn; else show what the other process has recorded."""
        try:
            with self._history.turn(self._source) as is_ours:
                changed = write() if is_ours else ()
            if is_ours:
                self._waiting.clear()
                self._gone.clear()
                self._last_event = None
            else:
                changed = self._recorded_by_others()
            found = map(self._history.incident, dict.fromkeys(changed))
            incidents = [incident for incident in found if incident is not None]
        except WhysyncError as problem:
            self._unavailable(problem)
            return
        if is_ours:
            for incident in incidents:
                if incident.closed_at is not None:
                    seconds = (incident.closed_at - incident.opened_at).total_seconds()
                    self._fleet.incident_times.add(seconds)
        self._fleet.database_problem = ""
        self._fleet.changed_incidents(incidents)

    def _recorded_by_others(self) -> tuple[int, ...]:
        before, self._last_event = self._last_event, self._history.last_event()
        return self._history.incidents_changed_after(before) if before is not None else ()

    def _unavailable(self, problem: WhysyncError) -> None:
        self._fleet.database_problem = f"{problem.what}: {problem.why}" if problem.why else problem.what
        log.warning("history: %s", self._fleet.database_problem)

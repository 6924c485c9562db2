"""The current state of a watched fleet: the last diagnosis of every app, and the health of the sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Skipped
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.history.model import AppKey, Incident
from whysync.reports.fleet import is_broken, urgency
from whysync.reports.list_view import Row, row_of, since

Clock = Callable[[], datetime]
_KEPT_EVENTS: Final = 1_000


class AppState(msgspec.Struct, frozen=True, kw_only=True):
    """The last diagnosis of an app. `proven`: its fixes and a sync now were simulated."""

    key: AppKey
    report: AppReport
    row: Row
    labels: dict[str, str]
    since: datetime | None
    seen_at: datetime
    proven: bool

    @property
    def broken(self) -> bool:
        return is_broken(self.report)

    @property
    def in_progress(self) -> bool:
        return bool(self.report.findings) and not self.broken


def state_of(report: AppReport, key: AppKey, *, seen_at: datetime, proven: bool) -> AppState:
    return AppState(
        key=key,
        report=report,
        row=row_of(report),
        labels=dict(report.case.app.metadata.labels),
        since=since(report) if report.findings or report.unexplained else None,
        seen_at=seen_at,
        proven=proven,
    )


class WithoutDetails:
    """Keeps healthy apps apart from the facts of the broken ones that were read with them.

    Without this, the facts of a whole fleet stay in memory until the last of its apps is read again.
    """

    def __init__(self) -> None:
        self._indexes: dict[int, SnapshotIndex] = {}
        self._skipped: dict[tuple[Skipped, ...], tuple[Skipped, ...]] = {}

    def of(self, state: AppState) -> AppState:
        report = state.report
        if state.broken or state.in_progress or report.case.desired:
            return state
        case = Case(self._index(report.case.index), report.case.application, report.case.app)
        skipped = self._skipped.setdefault(report.skipped, report.skipped)  # the same for most apps
        return replace(state, report=replace(report, case=case, skipped=skipped))

    def _index(self, index: SnapshotIndex) -> SnapshotIndex:
        if id(index) not in self._indexes:
            facts = replace(index.snapshot, applications=(), desired={}, live=(), events=(), logs=())
            self._indexes[id(index)] = SnapshotIndex(facts)
        return self._indexes[id(index)]


class SourceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a source of facts answers. `read_at` is the last time it did."""

    name: str
    description: str
    read_at: datetime | None = None
    problem: str = ""
    advice: str = ""
    failing_since: datetime | None = None
    retry_at: datetime | None = None
    apps: int = 0
    reads: int = 0
    failures: int = 0

    @property
    def is_healthy(self) -> bool:
        return not self.problem


class ChangeKind(StrEnum):
    APP = "app"
    INCIDENT = "incident"
    SOURCE = "source"


class FleetChange(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a page may show changed. `id` counts up; a viewer continues after the last one.

    `projects` are those that the app was and is in.
    """

    id: int
    kind: ChangeKind
    app: AppKey | None = None
    incident: int = 0
    projects: frozenset[str] = frozenset()


class Histogram:
    """Durations in seconds for `/metrics`; it only grows."""

    def __init__(self, *limits: float) -> None:
        self._counts = dict.fromkeys(limits, 0)
        self.count = 0
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        for limit in self._counts:
            self._counts[limit] += seconds <= limit

    def buckets(self) -> tuple[tuple[float, int], ...]:
        """Each limit, and how many durations are at most as long."""
        return tuple(self._counts.items())


class Fleet:
    """Written by the watchers, read by the pages; safe for threads. `proves`: fixes are simulated."""

    def __init__(self, clock: Clock, *, proves: bool = True) -> None:
        self._clock = clock
        self.proves = proves
        self._lock = threading.Lock()
        self._apps: dict[AppKey, AppState] = {}
        self._sorted: tuple[AppState, ...] | None = None
        self._sources: dict[str, SourceHealth] = {}
        self._changes: list[FleetChange] = []
        self._listeners: list[Callable[[FleetChange], None]] = []
        self._last_change = 0
        self.diagnosis_times = Histogram(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30)
        self.incident_times = Histogram(60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
        """Of the incidents that this process closed; with several processes each is in one of them."""
        self.database_problem = ""

    def now(self) -> datetime:
        return self._clock()

    # --- apps --------------------------------------------------------------------------------------

    def apps(self) -> tuple[AppState, ...]:
        """The worst first."""
        with self._lock:
            if self._sorted is None:
                states = self._apps.values()
                self._sorted = tuple(sorted(states, key=lambda state: (urgency(state.report), state.key)))
            return self._sorted

    def app(self, key: AppKey) -> AppState | None:
        with self._lock:
            return self._apps.get(key)

    def keys_of(self, instance: str) -> frozenset[AppKey]:
        with self._lock:
            return frozenset(key for key in self._apps if key.instance == instance)

    def put(self, states: Iterable[AppState]) -> None:
        for state in states:
            with self._lock:
                before = self._apps.get(state.key)
                self._apps[state.key] = state
                self._sorted = None
            if before is None or _shown(before) != _shown(state):
                projects = [one.row.project for one in (before, state) if one is not None]
                self._publish(ChangeKind.APP, app=state.key, projects=projects)

    def remove(self, keys: Iterable[AppKey]) -> None:
        for key in keys:
            with self._lock:
                before = self._apps.pop(key, None)
                self._sorted = None
            if before is not None:
                self._publish(ChangeKind.APP, app=key, projects={before.row.project})

    # --- sources -----------------------------------------------------------------------------------

    def sources(self) -> tuple[SourceHealth, ...]:
        with self._lock:
            return tuple(self._sources.values())

    def put_source(self, health: SourceHealth) -> None:
        with self._lock:
            before = self._sources.get(health.name)
            self._sources[health.name] = health
        if before is None or before.problem != health.problem or before.read_at is None:
            self._publish(ChangeKind.SOURCE)

    @property
    def is_ready(self) -> bool:
        """Has every source been read, or failed, at least once?"""
        sources = self.sources()
        return bool(sources) and all(source.read_at or source.problem for source in sources)

    # --- changes -----------------------------------------------------------------------------------

    def changed_incidents(self, incidents: Iterable[Incident]) -> None:
        for incident in incidents:
            self._publish(
                ChangeKind.INCIDENT, app=incident.app, incident=incident.id, projects={incident.project}
            )

    def listen(self, listener: Callable[[FleetChange], None]) -> Callable[[], None]:
        """Call `listener` on every change, in the thread that made it; returns how to stop."""
        with self._lock:
            self._listeners.append(listener)

        def stop() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return stop

    def changes_after(self, id: int) -> tuple[FleetChange, ...]:
        with self._lock:
            return tuple(change for change in self._changes if change.id > id)

    @property
    def last_change(self) -> int:
        return self._last_change

    def _publish(
        self,
        kind: ChangeKind,
        *,
        app: AppKey | None = None,
        incident: int = 0,
        projects: Iterable[str] = (),
    ) -> None:
        with self._lock:
            self._last_change += 1
            change = FleetChange(
                id=self._last_change, kind=kind, app=app, incident=incident, projects=frozenset(projects)
            )
            self._changes.append(change)
            del self._changes[:-_KEPT_EVENTS]
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(change)


def _shown(state: AppState) -> tuple[object, ...]:
    """What a page shows of an app, without its times: equal if nothing has to be drawn again."""
    report, app = state.report, state.report.case.app
    operation = app.status.operation_state
    return (
        state.row.sync,
        state.row.health,
        state.proven,
        report.safety,
        tuple((finding.rule, finding.verdict, finding.severity) for finding in report.findings),
        tuple(symptom.text for symptom in report.unexplained),
        app.status.sync.revision,
        (operation.phase, operation.message, operation.started_at) if operation is not None else None,
        len(operation.sync_result.resources) if operation and operation.sync_result else 0,
    )

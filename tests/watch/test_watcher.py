"""A watcher shows what its source has, records it, and survives a source or a database that is away."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.situations import ROOT
from whysync import app
from whysync.app import FactSource
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import SourceError, Unreadable
from whysync.facts.bundle import read_bundle
from whysync.history.history import History, IncidentFilter
from whysync.history.model import AppKey
from whysync.kubernetes.apiserver import managed_fields
from whysync.watch.demo import LabSource, VirtualClock
from whysync.watch.fleet import ChangeKind, Fleet, FleetChange
from whysync.watch.looks import look_of
from whysync.watch.sources import BundleSource, Poll
from whysync.watch.watcher import Recorder, Watcher

EXAMPLES = ROOT / "examples"
LOOP = EXAMPLES / "autoscaler-loop"


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_minutes(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


def bundle_watcher(folder: Path, clock: Clock) -> tuple[Watcher, Fleet, History]:
    fleet, history = Fleet(clock), History.open(":memory:")
    source = BundleSource(FactSource(bundles=(str(folder),)))
    return Watcher(source, fleet, Recorder(history, fleet), prove=False), fleet, history


def test_a_bundle_is_shown_and_recorded_after_the_first_poll() -> None:
    watcher, fleet, history = bundle_watcher(LOOP, Clock())
    assert not fleet.is_ready
    watcher.step()
    assert fleet.is_ready
    [state] = fleet.apps()
    assert state.broken
    [incident] = history.incidents(IncidentFilter(open=True))
    assert (incident.app, incident.problem.cause) == (state.key, state.row.cause)
    history.close()


def test_only_a_changed_bundle_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(LOOP, folder)
    watcher, fleet, history = bundle_watcher(folder, Clock())
    watcher.step()
    [first] = fleet.apps()
    watcher.step()
    assert fleet.apps() == (first,), "nothing changed"
    note = folder / "facts" / "note.yaml"
    note.parent.mkdir(exist_ok=True)
    note.write_text("note: changed\n")
    watcher.step()
    [again] = fleet.apps()
    assert again.report is not first.report
    history.close()


def test_an_app_that_is_gone_leaves_the_fleet_and_its_incident_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(LOOP, folder)
    watcher, fleet, history = bundle_watcher(folder, Clock())
    watcher.step()
    shutil.rmtree(folder / "applications")
    watcher.step()
    assert fleet.apps() == ()
    [incident] = history.incidents(IncidentFilter())
    assert not incident.is_open
    history.close()


class _FlakySource:
    name = instance = "argocd"
    description, interval = "a server", 5.0

    def __init__(self) -> None:
        self.problem: Exception | None = None

    def instances(self) -> frozenset[str]:
        return frozenset((self.name,))

    def look_again(self, _namespace: str, _name: str, /) -> None:
        pass

    def poll(self) -> Iterator[Poll]:
        if self.problem is not None:
            raise self.problem
        cases = app.cases(SnapshotIndex(read_bundle((str(LOOP),))))
        yield Poll(cases=cases, at=datetime(2026, 3, 1, 12, tzinfo=UTC))


def test_a_source_that_is_away_is_shown_and_tried_again_after_growing_pauses() -> None:
    fleet, history, source = Fleet(Clock()), History.open(":memory:"), _FlakySource()
    watcher = Watcher(source, fleet, Recorder(history, fleet), prove=False)
    watcher.step()
    source.problem = SourceError(what="connection refused", why="the server is away")
    pauses = [watcher.step() for _ in range(10)]
    assert pauses[:4] == [2.0, 4.0, 8.0, 16.0]
    assert pauses[-1] == 300.0
    [health] = fleet.sources()
    assert health.problem == "connection refused: the server is away"
    assert len(fleet.apps()) == 1, "the last known state stays"
    source.problem = None
    assert watcher.step() == 5.0
    [health] = fleet.sources()
    assert health.is_healthy
    history.close()


def test_an_unexpected_error_does_not_end_the_thread() -> None:
    fleet, history, source = Fleet(Clock()), History.open(":memory:"), _FlakySource()
    watcher = Watcher(source, fleet, Recorder(history, fleet), prove=False)
    source.problem = ZeroDivisionError()
    assert watcher.step() == 2.0
    [health] = fleet.sources()
    assert "ZeroDivisionError" in health.problem
    history.close()


class _AbsentHistory(History):
    """A history whose database is away until `is_away` is false."""

    is_away = True

    def record(self, looks: object) -> tuple[int, ...]:
        if self.is_away:
            raise Unreadable(what="the database does not answer")
        return super().record(looks)  # pyright: ignore[reportArgumentType]  (passed on as it is)


def test_looks_wait_for_a_database_that_is_away() -> None:
    from whysync.history.database import open_database

    fleet, history = Fleet(Clock()), _AbsentHistory(open_database(":memory:"))
    watcher = Watcher(_FlakySource(), fleet, Recorder(history, fleet), prove=False)
    watcher.step()
    assert "the database does not answer" in fleet.database_problem
    assert len(fleet.apps()) == 1
    history.is_away = False
    watcher.step()
    assert fleet.database_problem == ""
    assert len(history.incidents(IncidentFilter(open=True))) == 1
    history.close()


def test_viewers_are_told_what_changed_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(LOOP, folder)
    watcher, fleet, history = bundle_watcher(folder, Clock())
    kinds: list[ChangeKind] = []
    stop = fleet.listen(lambda change: kinds.append(change.kind))
    watcher.step()
    assert kinds == [ChangeKind.INCIDENT, ChangeKind.APP, ChangeKind.SOURCE]
    (folder / "bundle.yaml").touch()
    watcher.step()
    assert len(kinds) == 3, "the same findings again"
    stop()
    history.close()


def test_proofs_follow_and_stay_while_the_findings_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(LOOP, folder)
    clock = Clock()
    fleet, history = Fleet(clock), History.open(":memory:")
    watcher = Watcher(BundleSource(FactSource(bundles=(str(folder),))), fleet, Recorder(history, fleet))
    watcher.step()
    [state] = fleet.apps()
    assert not state.proven
    watcher.prove_next()
    [state] = fleet.apps()
    assert state.proven
    assert any(fix.proof.status == "proven" for fix in state.report.findings[0].fixes)
    assert managed_fields.cached_count() == 0, "what a simulation leaves behind would grow with each proof"
    (folder / "bundle.yaml").touch()
    watcher.step()
    [state] = fleet.apps()
    assert state.proven, "shown until they are simulated again"
    history.close()


def test_the_lab_develops_incidents_on_its_clock() -> None:
    seconds = [0.0]
    clock = VirtualClock(60.0, lambda: seconds[0])
    fleet, history = Fleet(clock), History.open(":memory:")
    watcher = Watcher(LabSource((), clock), fleet, Recorder(history, fleet), prove=False)
    watcher.step()
    seconds[0] = 2.0
    watcher.step()
    assert len(fleet.apps()) == 6
    assert history.open_outbreaks() == ()
    seconds[0] = 12.0
    watcher.step()
    [outbreak] = history.open_outbreaks()
    assert (outbreak.cause, outbreak.open_apps) == ("repo-auth", 6)
    for seconds[0] in (32.0, 39.0):
        watcher.step()
    assert history.open_outbreaks() == ()
    assert not any(state.broken for state in fleet.apps())
    history.close()


def test_the_clock_of_the_lab_runs_normally_when_nothing_develops_any_more() -> None:
    seconds = [0.0]
    clock = VirtualClock(3600, monotonic=lambda: seconds[0])
    source = LabSource(("pending-prune",), clock)
    list(source.poll())
    seconds[0] += 10  # ten hours, long after the last scenario
    list(source.poll())
    list(source.poll())
    before = clock()
    assert before >= clock.starts + timedelta(hours=10)
    seconds[0] += 10
    assert clock() == before + timedelta(seconds=10)
    assert list(source.poll()) == []


def test_a_request_to_look_at_an_app_reads_it_again_without_a_change() -> None:
    watcher, fleet, history = bundle_watcher(LOOP, Clock())
    watcher.step()
    [first] = fleet.apps()
    watcher.look_at("argocd", "my-api-service")
    watcher.step()
    [again] = fleet.apps()
    assert again.report is not first.report
    watcher.step()
    assert fleet.apps() == (again,), "once is enough"
    history.close()


class _WaitedSource(_FlakySource):
    """Says when it is polled; the next poll would be tomorrow."""

    interval = 86_400.0

    def __init__(self) -> None:
        super().__init__()
        self.polls: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
        self._asked: tuple[str, ...] = ()

    def look_again(self, namespace: str, name: str, /) -> None:
        self._asked = (namespace, name)

    def poll(self) -> Iterator[Poll]:
        self.polls.put(self._asked)
        return iter(())


def test_a_request_ends_the_pause_before_the_next_poll() -> None:
    fleet, history, source = Fleet(Clock()), History.open(":memory:"), _WaitedSource()
    watcher = Watcher(source, fleet, Recorder(history, fleet), prove=False)
    stop = threading.Event()
    thread = threading.Thread(target=watcher.run, args=(stop,))
    thread.start()
    try:
        assert source.polls.get(timeout=60) == ()
        watcher.look_at("argocd", "shop")
        assert source.polls.get(timeout=60) == ("argocd", "shop")
    finally:
        stop.set()
        thread.join(60)
    history.close()


def test_the_incident_of_an_app_that_was_deleted_while_nothing_ran_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(LOOP, folder)
    database = str(tmp_path / "whysync.db")
    for is_deleted in (False, True):
        if is_deleted:
            shutil.rmtree(folder / "applications")
        fleet, history = Fleet(Clock()), History.open(database)
        source = BundleSource(FactSource(bundles=(str(folder),)))
        Watcher(source, fleet, Recorder(history, fleet), prove=False).step()
        [incident] = history.incidents(IncidentFilter())
        assert incident.is_open is not is_deleted
        history.close()


class _OtherProcess(History):
    """A history that another process writes until `is_ours` is true."""

    is_ours = False

    @contextmanager
    def turn(self, source: str) -> Generator[bool]:
        with super().turn(source):
            yield self.is_ours


def test_a_process_that_takes_over_records_what_it_has_seen(tmp_path: Path) -> None:
    from whysync.history.database import open_database

    path = str(tmp_path / "whysync.db")
    fleet, history = Fleet(Clock()), _OtherProcess(open_database(path))
    watcher = Watcher(_FlakySource(), fleet, Recorder(history, fleet), prove=False)
    watcher.step()
    assert len(fleet.apps()) == 1, "the page is up to date"
    assert history.incidents(IncidentFilter()) == ()
    changes: list[FleetChange] = []
    fleet.listen(changes.append)
    holder = History.open(path)
    [state] = fleet.apps()
    [id] = holder.record([look_of(state)])
    watcher.step()
    assert [change.incident for change in changes if change.incident] == [id], "recorded by the other one"
    holder.forget([state.key], fleet.now())
    history.is_ours = True
    watcher.step()
    assert len(history.incidents(IncidentFilter(open=True))) == 1
    holder.close()
    history.close()


class _ProvingWatcher(Watcher):
    """Has nine apps to prove after each poll; a change arrives during each proof."""

    def follow(self, stop: threading.Event) -> list[str]:
        self.stop, self.events = stop, list[str]()
        self.run(stop)
        return self.events

    def step(self) -> float:
        self.events.append("poll")
        self._wake.clear()
        self._unproven = {AppKey("", "", str(number)): None for number in range(9)}
        if self.events.count("poll") == 3:
            self.stop.set()
        return 60.0

    def prove_next(self) -> None:
        self.events.append("proof")
        self.wake()


def test_a_change_does_not_wait_for_all_proofs() -> None:
    fleet, history = Fleet(Clock()), History.open(":memory:")
    watcher = _ProvingWatcher(_FlakySource(), fleet, Recorder(history, fleet))
    assert watcher.follow(threading.Event()) == ["poll", "proof", "poll", "proof", "poll"]
    history.close()

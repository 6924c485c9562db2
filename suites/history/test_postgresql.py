"""The history in a real PostgreSQL: the same answers as in SQLite, killed writers, leases, a server away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.history.server import PostgresServer, wait_for
from tests.history.killed_writer import schema_url
from tests.history.looks import OOM, SHOP, WEBHOOK_DOWN, after, look
from tests.history.test_kill import compare_with_the_first, run_killed_writers, story_of
from whysync.errors import Unreadable
from whysync.history.database import open_database
from whysync.history.history import History, IncidentFilter
from whysync.history.model import NewDelivery, Retention

_MOST_STATEMENTS = 1_000


def play(history: History) -> None:
    apps = [f"app-{number}" for number in range(5)]
    history.record([look(app=app) for app in apps])
    history.record([look(WEBHOOK_DOWN, app=app, minutes=1) for app in apps])
    history.record([look(OOM, app="app-1", minutes=2), look(minutes=2, app="app-2")])
    history.record([look(WEBHOOK_DOWN, app="app-2", minutes=3), look(OOM, minutes=3)])
    history.record([look(app=app, minutes=4) for app in apps])
    history.forget([SHOP], after(5))
    history.settle(after(30))
    for notice in history.outbox.unrouted():
        history.outbox.route(notice, [NewDelivery(channel="chat", due_at=after(31))], after(31))
    for delivery in history.outbox.claim(after(32)):
        history.outbox.delivered(delivery, after(32))


def test_both_databases_have_the_same_history(url: str) -> None:
    stories: list[object] = []
    for place in (url, ":memory:"):
        history = History.open(place)
        play(history)
        loops = history.frequent_syncs(after(0)), history.unstable_apps(after(0), least=1)
        assert history.purge(after(60), Retention(timeline=timedelta(0))) == 0, "incidents are kept"
        assert history.purge(after(60), Retention(incidents=timedelta(0))) == 6
        assert history.incidents(IncidentFilter()) == ()
        play(history)
        stories.append((loops, [replace(i, id=0, outbreak=0) for i in history.incidents(IncidentFilter())]))
        history.close()
    assert stories[0] == stories[1]


def test_a_process_killed_at_any_statement_loses_and_doubles_nothing(
    server: PostgresServer, tmp_path: Path
) -> None:
    place = server.url().partition("?")[0]
    server.sql(";".join(f"CREATE SCHEMA killed_{number}" for number in range(_MOST_STATEMENTS)))
    folders = run_killed_writers(tmp_path, place)
    compare_with_the_first(folders, lambda folder: History.open(schema_url(place, folder.name)))


def test_a_database_that_is_restored_has_the_same_history(server: PostgresServer) -> None:
    """As the docs say: `pg_dump`, then `psql` with an empty database."""
    for name in ("saved", "restored"):
        server.sql(f"CREATE DATABASE {name}")
    place = server.url().partition("?")[0].removesuffix("postgres")
    saved = History.open(f"{place}saved")
    play(saved)
    file = str(server.folder / "whysync.sql")
    server.tool("pg_dump", "--no-owner", "-f", file, database="saved")
    server.tool("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, database="restored")
    restored = History.open(f"{place}restored")
    assert story_of(restored) == story_of(saved)


def test_one_process_records_at_a_time_and_another_takes_over(url: str) -> None:
    first, second = (History(open_database(url), lease=timedelta(seconds=2)) for _ in range(2))
    with first.turn("argocd") as is_ours:
        assert is_ours
    with second.turn("argocd") as is_ours:
        assert not is_ours
    with second.turn("another") as is_ours:
        assert is_ours, "the sources are shared"

    def takes_over() -> bool:
        with second.turn("argocd") as is_ours:
            return is_ours

    wait_for("the lease expires", takes_over)
    with first.turn("argocd") as is_ours:
        assert not is_ours, "a process that was away for too long records nothing"
    second.release()
    with first.turn("argocd") as is_ours:
        assert is_ours
    first.close()
    second.close()


def test_processes_that_record_at_once_open_and_close_one_outbreak(url: str) -> None:
    histories = [History.open(url) for _ in range(4)]

    def record(number: int) -> None:
        for round in range(5):
            minutes = round * 20.0
            app = f"app-{number}"
            histories[number].record([look(WEBHOOK_DOWN, app=app, minutes=minutes)])
            histories[number].record([look(app=app, minutes=minutes + 1)])
            histories[number].settle(after(minutes + 10))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, range(4)))
    incidents = histories[0].incidents(IncidentFilter())
    assert len(incidents) == 20
    assert not any(incident.is_open for incident in incidents)
    assert histories[0].open_outbreaks() == ()
    for history in histories:
        history.close()


def test_a_server_that_is_away_is_an_error_and_is_used_again_later(server: PostgresServer, url: str) -> None:
    history = History.open(url)
    history.record([look(OOM)])
    server.stop()
    try:
        with pytest.raises(Unreadable):
            history.record([look(OOM, app="cart")])
    finally:
        server.start()
    with pytest.raises(Unreadable, match=r"127\.0\.0\.1") as caught:
        History.open(url.replace(str(server.port), "1"))
    assert "whysync@" not in str(caught.value)
    wait_for("the connection is opened again", lambda: _records(history))
    assert len(history.incidents(IncidentFilter(open=True))) == 2
    history.close()


def _records(history: History) -> bool:
    try:
        history.record([look(OOM, app="cart")])
    except Unreadable:
        return False
    return True

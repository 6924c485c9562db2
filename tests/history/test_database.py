"""Migrations run once and in order; a database that cannot be used is a clear error."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from tests.history.looks import OOM, after, look
from whysync.errors import Unreadable, UsageError
from whysync.history.database import SqliteDatabase
from whysync.history.history import History, IncidentFilter
from whysync.history.migrations import MIGRATIONS


def test_history_is_there_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "whysync.db")
    first = History.open(path)
    first.record([look(OOM)])
    first.close()
    second = History.open(path)
    assert len(second.incidents(IncidentFilter(open=True))) == 1
    second.close()


def test_a_later_version_adds_its_migrations(tmp_path: Path) -> None:
    path = str(tmp_path / "whysync.db")
    SqliteDatabase(path).close()
    later = SqliteDatabase(path, (*MIGRATIONS, ("CREATE TABLE added (id {id})",)))
    assert later.rows("SELECT version FROM schema_version ORDER BY version") == [
        (number,) for number in range(1, len(MIGRATIONS) + 2)
    ]
    assert later.rows("SELECT * FROM added") == []
    later.close()
    with pytest.raises(Unreadable, match="newer version of whysync"):
        SqliteDatabase(path)


def test_a_failed_migration_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "whysync.db")
    SqliteDatabase(path).close()
    broken = (*MIGRATIONS, ("CREATE TABLE added (id {id})", "CREATE TABLE nonsense ("))
    with pytest.raises(Unreadable):
        SqliteDatabase(path, broken)
    database = SqliteDatabase(path)
    assert database.rows("SELECT name FROM sqlite_master WHERE name = 'added'") == []
    database.close()


def test_a_file_that_is_no_database_and_a_missing_folder_are_errors(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be read as one" * 20)
    with pytest.raises(Unreadable, match="cannot be opened"):
        SqliteDatabase(str(text))
    with pytest.raises(UsageError, match="does not exist"):
        SqliteDatabase(str(tmp_path / "missing" / "whysync.db"))


def test_an_error_within_a_transaction_writes_nothing() -> None:
    database = SqliteDatabase(":memory:")

    def insert_and_fail() -> None:
        with database.transaction():
            database.run("INSERT INTO schema_version (version) VALUES (99)")
            raise KeyError

    with pytest.raises(KeyError):
        insert_and_fail()
    assert database.rows("SELECT COUNT(*) FROM schema_version") == [(len(MIGRATIONS),)]
    database.close()


def test_a_page_reads_while_a_transaction_is_open(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "whysync.db"))
    database.run("INSERT INTO schema_version (version) VALUES (90)")
    numbers: list[int] = []

    def read() -> None:
        numbers.append(int(database.rows("SELECT MAX(version) FROM schema_version")[0][0]))

    with database.transaction():
        database.run("INSERT INTO schema_version (version) VALUES (91)")
        read()
        thread = threading.Thread(target=read)
        thread.start()
        thread.join(20)
        assert not thread.is_alive(), "a reader does not wait for the writer"
    read()
    assert numbers == [91, 90, 91]
    database.close()


def test_a_copy_taken_while_it_is_written_can_be_restored(tmp_path: Path) -> None:
    """As the docs say: `.backup`, then the copy in the place of the file, without its -wal and -shm."""
    path, copy = tmp_path / "whysync.db", tmp_path / "copy.db"
    history = History.open(str(path))
    history.record([look(OOM)])
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    source.backup(target)  # what `.backup` of the sqlite3 program calls
    source.close()
    target.close()
    history.record([look(OOM, app="later")])
    story = [incident.app.name for incident in history.incidents(IncidentFilter())]
    history.close()
    assert len(story) == 2
    path.write_bytes(copy.read_bytes())
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    restored = History.open(str(path))
    [incident] = restored.incidents(IncidentFilter())
    assert incident.is_open
    restored.record([look(minutes=1)])
    restored.settle(after(30))
    assert restored.incidents(IncidentFilter(open=True)) == ()
    restored.close()

"""Migrations run once and in order; a database that cannot be used is a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.history.looks import OOM, look
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

"""The database of the history: SQLite (WAL) or PostgreSQL behind one small interface.

Statements use `?` for parameters. A transaction is written completely or not at all, whenever the process
dies.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from whysync.errors import Unreadable, UsageError
from whysync.history.migrations import MIGRATIONS

Value = str | int | None
Row = tuple[Any, ...]
C = TypeVar("C")
IN_MEMORY: Final = ":memory:"
_MOST_READERS: Final = 4
_WRITE_LOCK: Final = 0x77687973
"""The key of the advisory lock that a process holds during a transaction in a PostgreSQL database."""


class Database(Protocol):
    """`is_shared`: several processes may record in it. `now`: its clock as SQL, in milliseconds."""

    is_shared: bool
    now: str

    def transaction(self) -> Any:
        """A context in which statements belong together. Only one thread is in it at a time."""

    def rows(self, sql: str, *values: Value) -> list[Row]: ...

    def run(self, sql: str, *values: Value) -> int:
        """Run a statement and return the number of changed rows."""
        ...

    def close(self) -> None: ...


def open_database(url: str) -> Database:
    """Open `FILE.db` or `postgresql://…`, and bring its schema up to date."""
    if url.startswith(("postgresql://", "postgres://")):
        from whysync.history.postgresql import PostgresDatabase

        database: Database = PostgresDatabase(url, MIGRATIONS, lock=_WRITE_LOCK)
    else:
        database = SqliteDatabase(url)
    return database


class Idle(Generic[C]):
    """Connections that nobody uses at the moment, for the next one who reads."""

    def __init__(self, close: Callable[[C], object]) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._connections: list[C] | None = []

    def take(self) -> C | None:
        with self._lock:
            return self._connections.pop() if self._connections else None

    def put(self, connection: C) -> None:
        with self._lock:
            if self._connections is not None and len(self._connections) < _MOST_READERS:
                self._connections.append(connection)
                return
        self._close(connection)

    def close(self) -> None:
        with self._lock:
            connections, self._connections = self._connections or [], None
        for connection in connections:
            self._close(connection)


class SqliteDatabase:
    """One connection that writes, and a lock that keeps transactions apart; others read (WAL).

    A page does not wait for a transaction, and shows what was written before it.
    """

    is_shared = False
    now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    def __init__(self, path: str, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._depth = 0
        self._writer = 0
        self._readers = Idle[sqlite3.Connection](sqlite3.Connection.close)
        if path != IN_MEMORY and not Path(path).absolute().parent.is_dir():
            raise UsageError(what=f"the folder of {path} does not exist", next="create it, or correct --db")
        try:
            self._connection = self._connect()
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._migrate(path, migrations)
        except sqlite3.Error as problem:
            raise Unreadable(
                what=f"{path} cannot be opened", why=str(problem), next="correct --db, or restore a backup"
            ) from problem

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, check_same_thread=False, isolation_level=None, timeout=30.0)

    @property
    def connection(self) -> sqlite3.Connection:
        return self._connection

    def _migrate(self, path: str, migrations: Sequence[Sequence[str]]) -> None:
        with self.transaction():
            self.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
            current = applied_version(self, path, len(migrations))
            for number, statements in enumerate(migrations[current:], start=current + 1):
                for statement in statements:
                    self.run(statement.replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT"))
                self.run("INSERT INTO schema_version (version) VALUES (?)", number)

    @contextmanager
    def transaction(self) -> Generator[None]:
        with self._lock:
            if self._depth:
                yield
                return
            self._execute("BEGIN IMMEDIATE")
            self._depth += 1
            self._writer = threading.get_ident()
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._writer = 0
                self._depth -= 1

    def rows(self, sql: str, *values: Value) -> list[Row]:
        if self._path == IN_MEMORY or self._writer == threading.get_ident():
            with self._lock:
                return self._execute(sql, *values).fetchall()
        with self._translated():
            reader = self._readers.take() or self._connect()
            try:
                rows = reader.execute(sql, values).fetchall()
            except BaseException:
                reader.close()
                raise
        self._readers.put(reader)
        return rows

    def run(self, sql: str, *values: Value) -> int:
        with self._lock:
            return self._execute(sql, *values).rowcount

    def _execute(self, sql: str, *values: Value) -> sqlite3.Cursor:
        with self._translated():
            return self._connection.execute(sql, values)

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Errors of the database (a full disk, a lock) as errors of whysync."""
        try:
            yield
        except sqlite3.Error as problem:
            raise Unreadable(
                what=f"{self._path} cannot be used", why=str(problem), next="free some space, or correct --db"
            ) from problem

    def close(self) -> None:
        self._readers.close()
        with self._lock:
            self._connection.close()


def applied_version(database: Database, url: str, known: int) -> int:
    """The number of the last migration that was applied; a newer one than we know is an error."""
    current = int(database.rows("SELECT COALESCE(MAX(version), 0) FROM schema_version")[0][0])
    if current > known:
        raise Unreadable(
            what=f"{url} was written by a newer version of whysync",
            why=f"its schema has version {current}; this version of whysync knows {known}",
            next="upgrade whysync, or pass another --db",
        )
    return current

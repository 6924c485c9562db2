"""Processes for test_kill.py: each records looks and sends notices, and kills itself at a given statement.

    python -m tests.history.killed_writer FOLDER [URL]

With the URL of a PostgreSQL database, each process has a schema of its own: `killed_N`.
For the statement N, FOLDER/N has the database, the keys that the receiver got, and the step to resume at: the
process that was killed there was followed by one that was not. FOLDER/0 has those of a single process.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from tests.history.looks import OOM, SHOP, WEBHOOK_DOWN, after, look
from whysync.history.database import Database, Row, SqliteDatabase, Value
from whysync.history.history import History
from whysync.history.migrations import MIGRATIONS
from whysync.history.model import Look, NewDelivery
from whysync.history.postgresql import PostgresDatabase

STEPS: tuple[tuple[Look, ...], ...] = (
    (look(), look(app="cart"), look(app="mail")),
    (look(OOM, minutes=1), look(WEBHOOK_DOWN, app="cart", minutes=1)),
    (look(WEBHOOK_DOWN, minutes=2), look(WEBHOOK_DOWN, app="mail", minutes=2)),
    (look(minutes=3), look(app="cart", minutes=3)),
    (look(OOM, minutes=4),),
    (look(minutes=5), look(app="mail", minutes=5)),
)


def main(folder: Path, url: str = "") -> None:
    for statement in itertools.count():
        part = folder / str(statement)
        part.mkdir()
        killed = _in_a_process(part, statement, url) == signal.SIGKILL
        if killed:
            assert _in_a_process(part, 0, url) == 0
        elif statement:
            return  # there are fewer statements than that


def _in_a_process(folder: Path, last_statement: int, url: str) -> int:
    """Returns the signal that ended the process, or 0."""
    child = os.fork()
    if child == 0:
        _work(folder, last_statement, url)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _work(folder: Path, last_statement: int, url: str) -> None:
    statements = itertools.count(1)

    def on_statement(_: str) -> None:
        if next(statements) == last_statement:
            os.kill(os.getpid(), signal.SIGKILL)

    history = History(_traced(folder, url, on_statement))
    resume_at = folder / "step"
    first = int(resume_at.read_text()) if resume_at.exists() else 0
    for number, looks in list(enumerate(STEPS))[first:]:
        resume_at.write_text(str(number))
        history.record(looks)
        _send(history, folder, looks[0].at, on_statement)
    resume_at.write_text(str(len(STEPS)))
    history.settle(after(30))
    _send(history, folder, after(60), on_statement)
    history.forget([SHOP], after(90))
    _send(history, folder, after(120), on_statement)


def _traced(folder: Path, url: str, on_statement: Callable[[str], None]) -> Database:
    if url:
        return _TracedPostgres(schema_url(url, folder.name), on_statement)
    database = SqliteDatabase(str(folder / "whysync.db"))
    database.connection.set_trace_callback(on_statement)
    return database


def schema_url(url: str, number: str) -> str:
    return f"{url}?options=-csearch_path%3Dkilled_{number}"


class _TracedPostgres(PostgresDatabase):
    """Reports each statement before it is sent, and the end of each transaction."""

    def __init__(self, url: str, on_statement: Callable[[str], None]) -> None:
        self._on_statement: Callable[[str], None] = lambda _: None
        super().__init__(url, MIGRATIONS, lock=1)
        self._on_statement = on_statement

    @contextmanager
    def transaction(self) -> Generator[None]:
        self._on_statement("BEGIN")
        with super().transaction():
            yield
            self._on_statement("COMMIT")

    def rows(self, sql: str, *values: Value) -> list[Row]:
        self._on_statement(sql)
        return super().rows(sql, *values)

    def run(self, sql: str, *values: Value) -> int:
        self._on_statement(sql)
        return super().run(sql, *values)


def _send(history: History, folder: Path, now: datetime, before_sending: Callable[[str], None]) -> None:
    for notice in history.outbox.unrouted():
        history.outbox.route(notice, [NewDelivery(channel="slack", due_at=now)], now)
    for delivery in history.outbox.claim(now, claim=timedelta(minutes=1)):
        before_sending(delivery.key)
        with (folder / "received").open("a") as file:
            file.write(f"{delivery.key}\n")
        history.outbox.delivered(delivery, now)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

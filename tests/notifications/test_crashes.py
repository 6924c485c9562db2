"""A sender that ends at any statement: nothing is lost, and copies have the same key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.history.looks import OOM, WEBHOOK_DOWN, after, look
from whysync.history.database import Row, SqliteDatabase, Value
from whysync.history.history import History
from whysync.notifications.channels import Request
from whysync.notifications.check_config import check_text
from whysync.notifications.sender import Response, Sender

CONFIG = """
version: 1
notifications:
  channels:
  - {name: a, webhook: {url: 'http://127.0.0.1:9/a'}}
  - {name: b, webhook: {url: 'http://127.0.0.1:9/b'}}
  routes:
  - {channels: [a, b]}
"""
NOTICES = 3
MOST_STEPS = 200


class Killed(BaseException):
    """The process ends here: SQLite rolls back what was not committed."""


class DyingDatabase(SqliteDatabase):
    """Ends the process before the n-th statement, or never."""

    def __init__(self, path: str) -> None:
        self.left = MOST_STEPS * 1_000
        super().__init__(path)

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def rows(self, sql: str, *values: Value) -> list[Row]:
        self.step()
        return super().rows(sql, *values)

    def run(self, sql: str, *values: Value) -> int:
        self.step()
        return super().run(sql, *values)


@contextmanager
def opened(path: Path) -> Generator[tuple[History, DyingDatabase]]:
    database = DyingDatabase(str(path))
    try:
        yield History(database), database
    finally:
        database.close()


def incidents(history: History) -> None:
    history.record([look(OOM)])
    history.record([look(WEBHOOK_DOWN, minutes=4)])
    history.record([look(minutes=5)])
    history.settle(after(60))


def test_nothing_is_lost_or_gets_another_key(tmp_path: Path) -> None:
    config = check_text(CONFIG, {}).config
    assert config is not None
    received: list[str] = []

    def send(request: Request) -> Response:
        received.append(request.headers["Idempotency-Key"])
        return Response(status=200)

    died = True
    step = -1
    while died:
        step += 1
        assert step < MOST_STEPS
        received.clear()
        path = tmp_path / f"{step}.db"
        with opened(path) as (history, database):
            incidents(history)
            database.left = step
            try:
                Sender(history, config, send=send).work(after(61))
                died = False
            except Killed:
                died = True
        with opened(path) as (history, _):
            restarted = Sender(history, config, send=send)
            for minutes in range(62, 80):
                restarted.work(after(minutes))
            assert history.outbox.waiting() == 0
        copies = Counter(received)
        assert len(copies) == 2 * NOTICES, (step, copies)
        assert sum(copies.values()) <= 2 * NOTICES + 1  # a copy of the one that was being sent
    assert step > 10

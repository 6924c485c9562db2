"""Two `whysync serve` processes share a fleet: the one that records is killed, nothing is lost or doubled."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from suites.history.server import wait_for
from tests.cli.running import small_environment
from tests.notifications.receiver import receiver
from tests.notifications.test_serve import EXAMPLE, configured
from tests.situations import ROOT
from whysync.history.database import open_database
from whysync.history.history import History, IncidentFilter


@contextmanager
def _serving(bundle: Path, config: Path, url: str) -> Generator[int]:
    """The process id of a `whysync serve` that has started."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "whysync", "serve", "--bundle", str(bundle), "--no-proof"),
            *("--listen", "127.0.0.1:0", "--db", url, "--config", str(config)),
        ],
        cwd=ROOT,
        env=small_environment({"HOOK_SECRET": "a-long-secret-of-the-hook"}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert re.search(r"http://127\.0\.0\.1:\d+", line), line + process.stderr.read()
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def _holder(url: str) -> int:
    """The process that holds the lease; 0 if none does."""
    database = open_database(url)
    rows = database.rows(f"SELECT holder FROM leases WHERE expires_at > {database.now}")
    database.close()
    return int(rows[0][0].split("/")[-2]) if rows else 0


def test_a_process_takes_over_from_one_that_was_killed(url: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(EXAMPLE, bundle)
    history = History.open(url)
    with receiver() as server:
        config = configured(tmp_path, server)
        with _serving(bundle, config, url) as first, _serving(bundle, config, url) as second:
            wait_for("one of them records", lambda: history.incidents(IncidentFilter(open=True)))
            wait_for("the incident is told", lambda: server.received)
            holder = _holder(url)
            assert holder in (first, second)
            other = second if holder == first else first
            os.kill(holder, signal.SIGKILL)
            shutil.rmtree(bundle / "applications")
            wait_for("the other one takes over", lambda: _holder(url) == other)
            wait_for("it records the end", lambda: not history.incidents(IncidentFilter(open=True)))
            wait_for("the end is told", lambda: len(server.received) == 2)
    keys = [request.headers["Idempotency-Key"] for request in server.received]
    assert len(set(keys)) == 2
    [incident] = history.incidents(IncidentFilter())
    assert not incident.is_open
    assert _holder(url) == 0, "a process that ends leaves its leases"
    history.close()

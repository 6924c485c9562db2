from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from whysync.processes.sandbox import Worker, WorkerDied, WorkerTooSlow


def handle(request: bytes) -> bytes:
    """What the child of these tests runs."""
    match request:
        case b"hang":
            while True:
                pass
        case b"eat":
            return b"x" * (4 * 1024 * 1024 * 1024)
        case b"wait":
            time.sleep(0.3)
            return b"waited"
        case b"leave":
            os._exit(3)
        case b"environment":
            return repr(sorted(set(os.environ) - {"LC_CTYPE"})).encode()  # set by Python itself
        case _ if request.startswith(b"/"):
            try:
                return b"%d" % Path(os.fsdecode(request)).write_bytes(b"x")
            except OSError:
                return b"refused"
        case _:
            return request[::-1]


@pytest.fixture(params=["polled", "watched"])
def worker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    if request.param == "watched":  # as where pipes cannot be polled
        monkeypatch.delattr(select, "poll")
    worker = Worker(__name__, memory=1 << 30)
    yield worker
    worker.close()


def test_questions_are_answered_by_one_child(worker: Worker) -> None:
    texts = (b"ab", b"x" * 3_000_000, b"", b"c\0d")
    assert [worker.ask(text, seconds=30) for text in texts] == [text[::-1] for text in texts]


@pytest.mark.parametrize("deed", [b"leave", b"eat"])
def test_a_child_that_dies_is_replaced(worker: Worker, deed: bytes) -> None:
    with pytest.raises(WorkerDied):
        worker.ask(deed, seconds=60)
    assert worker.ask(b"ab", seconds=30) == b"ba"


def test_a_child_that_hangs_is_killed(worker: Worker) -> None:
    with pytest.raises(WorkerTooSlow):
        worker.ask(b"hang", seconds=0.05)
    assert worker.ask(b"ab", seconds=30) == b"ba"


@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of a child is not known here")
def test_only_processor_time_counts() -> None:
    """A child that does not get a processor is not slow; here it gives its processor away."""
    worker = Worker(__name__, memory=1 << 30)
    try:
        assert worker.ask(b"wait", seconds=0.2) == b"waited"
    finally:
        worker.close()


def test_a_question_that_is_not_taken_in_time_does_not_block(worker: Worker) -> None:
    with pytest.raises(WorkerTooSlow):
        worker.ask(b"hang" + b"!" * 10_000_000, seconds=0)
    assert worker.ask(b"ab", seconds=30) == b"ba"


def test_a_child_sees_no_environment_and_writes_no_file(worker: Worker, tmp_path: Path) -> None:
    assert worker.ask(b"environment", seconds=30) == b"[]"
    assert worker.ask(os.fsencode(tmp_path / "file"), seconds=30) == b"refused"

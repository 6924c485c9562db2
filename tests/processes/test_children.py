"""Children end in time, say only so much, and know nothing of the user."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whysync.processes.children import Bounds, NotStarted, TooMuchOutput, TooSlow, environment, run


def test_a_child_answers(tmp_path: Path) -> None:
    done = run(["cat"], folder=tmp_path, env={}, bounds=Bounds(), input=b"x" * 300_000)
    assert (done.code, len(done.out)) == (0, 300_000)


def test_what_fails_says_how(tmp_path: Path) -> None:
    done = run(["sh", "-c", "echo no >&2; exit 3"], folder=tmp_path, env=dict(os.environ), bounds=Bounds())
    assert (done.cause, done.complaint) == ("exit status 3", "no")


def test_a_child_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    """What they write to is closed when the last of them has ended, long before they would end themselves."""
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(TooSlow):
        run(
            ["sh", "-c", "exec 9> held; echo begun >&9; sleep 600 & wait"],
            folder=tmp_path,
            env={"PATH": os.environ["PATH"]},
            bounds=Bounds(seconds=0.5),
        )
    os.set_blocking(held, True)
    while piece := os.read(held, 100):
        assert piece == b"begun\n"
    os.close(held)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_start_of_a_child_ends_the_child(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It arrives when the child runs already, but before `Popen` has returned."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen[bytes]

    def interrupted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        os.kill(os.getpid(), number)
        return started[0]

    before = {item: signal.getsignal(item) for item in (signal.SIGINT, signal.SIGTERM)}
    try:
        for item in before:
            signal.signal(item, signal.default_int_handler)
        monkeypatch.setattr(subprocess, "Popen", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(["sleep", "600"], folder=tmp_path, env={"PATH": os.environ["PATH"]}, bounds=Bounds())
        assert {signal.getsignal(item) for item in before} == {signal.default_int_handler}
    finally:
        for item, handler in before.items():
            signal.signal(item, handler)
    assert started[0].poll() == -signal.SIGKILL


def test_a_child_that_talks_without_end_is_killed(tmp_path: Path) -> None:
    with pytest.raises(TooMuchOutput):
        run(["yes"], folder=tmp_path, env={"PATH": os.environ["PATH"]}, bounds=Bounds(output=100_000))


def test_a_child_without_a_parent_ends_by_itself(tmp_path: Path) -> None:
    done = run(["sh", "-c", "ulimit -t"], folder=tmp_path, env={}, bounds=Bounds(memory=1 << 30, seconds=2))
    assert int(done.out) == 3 * (os.cpu_count() or 1)


def test_memory_is_bounded(tmp_path: Path) -> None:
    hungry = [sys.executable, "-c", "x = bytearray(2 << 30)"]
    done = run(hungry, folder=tmp_path, env={}, bounds=Bounds(memory=1 << 30))
    assert done.code != 0
    assert "MemoryError" in done.complaint


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotStarted):
        run(["/no/such/program"], folder=tmp_path, env={}, bounds=Bounds())
    with pytest.raises(NotStarted):
        run(["cat", "a\0b"], folder=tmp_path, env={}, bounds=Bounds())


def test_the_environment_holds_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org")
    closed = environment(tmp_path, network=False)
    assert "s3cret" not in str(closed)
    assert closed["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert closed["GIT_ALLOW_PROTOCOL"] == "none"
    opened = environment(tmp_path, network=True)
    assert opened["HTTPS_PROXY"] == "http://proxy.example.org"
    assert "s3cret" not in str(opened)

"""Runs the command line: in this process, or as a process of its own."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

import pytest

from tests.proof_cache import cached_proofs
from tests.situations import ROOT
from whysync.cli.main import main
from whysync.facts.http import retry
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.rate_limit import pause_before

KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "COVERAGE_PROCESS_CONFIG",
)  # the last: make coverage measures child processes too


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


class Whysync:
    """`whysync("diagnose", "--bundle", path).code`."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes | None = None, **environ: str) -> Ran:
        with self._monkeypatch.context() as patch, cached_proofs(), _log_on_standard_error():
            patch.setattr(retry, "pause_before", _short_pause)
            for name, value in environ.items():
                patch.setenv(name, value)
            if stdin is not None:
                patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
            try:
                code = main(list(arguments))
            except SystemExit as exit:  # --help ends there
                code = exit.code if isinstance(exit.code, int) else 0
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


def _short_pause(attempt: int, limits: HttpLimits, *, requested: float | None = None) -> float:
    return pause_before(attempt, limits, requested=requested) / 1000


@contextmanager
def _log_on_standard_error() -> Generator[None]:
    """As in a process of its own, where no handler of pytest is installed before."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)


def process(*arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Ran:
    """A process of its own, with a small environment."""
    done = subprocess.run(
        [sys.executable, "-m", "whysync", *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env=small_environment(environ),
        check=False,
        timeout=300,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def small_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A minimal environment that imports whysync from this tree."""
    inherited = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**inherited, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT / "src"), **(more or {})}

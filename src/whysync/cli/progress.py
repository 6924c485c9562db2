"""A progress line on a terminal for what takes more than a second, with an estimate of the time left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from whysync.deadline import time_left
from whysync.reports.output import err

T = TypeVar("T")
Progress = Callable[[str, int], None]
_DELAY = 1.0
"""Seconds until progress is shown."""
_PACKED = (".gz", ".tgz", ".zip")


class ProgressLine:
    """`describe` gets the current name, what is done, and the time left in words; the line is cleared at the
    end.
    """

    def __init__(self, describe: Callable[[str, int, str], str], total: Callable[[], int]) -> None:
        self._describe = describe
        self._total = total
        self._known_total: int | None = None
        self._start = time.monotonic()
        self._next = self._start + _DELAY
        self._shown = False

    def __call__(self, name: str, done: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _DELAY / 4
        self._shown = True
        if self._known_total is None:
            self._known_total = self._total()
        left = time_left(done, self._known_total, now - self._start)
        err().progress(self._describe(name, done, left))

    def wipe(self) -> None:
        if self._shown:
            err().progress("")


def with_progress(
    work: Callable[[Progress | None], T],
    describe: Callable[[str, int, str], str],
    total: Callable[[], int] = lambda: 0,
) -> T:
    """Do the work, with a progress line if standard error is a terminal; `total` is 0 if it is unknown."""
    if not err().is_terminal:
        return work(None)
    line = ProgressLine(describe, total)
    try:
        return work(line)
    finally:
        line.wipe()


def reading(name: str, done: int, left: str) -> str:
    return f"reading {name[:60]}: {done / 1e6:,.0f} MB so far{left}"


def size_of(paths: Sequence[str]) -> int:
    """The bytes that will be read; 0 if that is unknown, as for an archive."""
    total = 0
    for path in map(Path, paths):
        if path.is_dir():
            total += sum(file.stat().st_size for file in _files(path))
        elif path.is_file() and not path.name.endswith(_PACKED):
            total += path.stat().st_size
        else:
            return 0
    return total


def _files(folder: Path) -> list[os.DirEntry[str]]:
    files: list[os.DirEntry[str]] = []
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                for child in listing:
                    if child.is_dir(follow_symlinks=False):
                        pending.append(child.path)
                    elif child.is_file(follow_symlinks=False):
                        files.append(child)
        except OSError:
            continue
    return files

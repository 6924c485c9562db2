"""Failures injected into the system calls of `whysync.files`."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any, Final

import pytest

from whysync.files import TEMPORARY

_MODULE: Final = "whysync.files"
_CALLS: Final = ("open", "write", "fsync", "fchmod", "replace", "close", "unlink", "rmdir")


class Killed(BaseException):
    """Stands for kill -9: whysync does nothing more, so no call after it has an effect."""


class Fault(Enum):
    FULL_DISK = "full disk"
    IO_ERROR = "I/O error"
    SIGNAL_BEFORE = "signal before the call"
    SIGNAL_AFTER = "signal after the call"
    KILLED = "kill -9"


class Calls:
    """`at` is the number of the call that fails; `count` the calls so far."""

    def __init__(self, at: int = -1, fault: Fault = Fault.FULL_DISK) -> None:
        self.at = at
        self.fault = fault
        self.count = 0
        self.killed = False

    def around(self, name: str, actual: Callable[..., Any]) -> Callable[..., Any]:
        real: Callable[..., Any] = _no_sync if name == "fsync" else actual

        def called(*arguments: Any, **named: Any) -> Any:
            if _caller() != _MODULE:
                return real(*arguments, **named)
            if self.killed:
                raise Killed
            if name in ("unlink", "rmdir") and self.fault is not Fault.KILLED:
                return real(*arguments, **named)  # a cleanup that fails cannot clean up
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_DIRECTORY):
                return real(*arguments, **named)  # it reads
            number, self.count = self.count, self.count + 1
            if number != self.at:
                return real(*arguments, **named)
            if name == "write" and self.fault in (Fault.FULL_DISK, Fault.KILLED):
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])  # half of it is on the disk
            if name == "close" or self.fault is Fault.SIGNAL_AFTER:
                real(*arguments, **named)
            raise self._exception()

        return called

    def _exception(self) -> BaseException:
        match self.fault:
            case Fault.FULL_DISK:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            case Fault.IO_ERROR:
                return OSError(errno.EIO, os.strerror(errno.EIO))
            case Fault.SIGNAL_BEFORE | Fault.SIGNAL_AFTER:
                return KeyboardInterrupt()
            case Fault.KILLED:
                self.killed = True
                return Killed()


def _no_sync(_: int) -> None:
    """A disk is slow, and no test cuts the power."""


def _caller() -> str:
    """The module that called a function around which this was put."""
    frame = inspect.currentframe()
    above = frame.f_back.f_back if frame and frame.f_back else None
    return str(above.f_globals.get("__name__")) if above else ""


@contextmanager
def injected(calls: Calls) -> Generator[Calls]:
    with pytest.MonkeyPatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, calls.around(name, getattr(os, name)))
        yield calls


def every_fault(
    act: Callable[[], object],
    check: Callable[[Calls], None],
    reset: Callable[[], None],
    faults: Iterable[Fault] = tuple(Fault),
) -> int:
    """Fail at each call of `act` in each way, and check what is on the disk; returns the number of calls."""
    reset()
    with injected(Calls(fault=Fault.KILLED)) as whole:
        act()
    for fault in faults:
        for at in range(whole.count):
            reset()
            with injected(Calls(at, fault)) as calls, suppress(OSError, KeyboardInterrupt, Killed):
                act()
            check(calls)
    return whole.count


def files_below(folder: Path) -> dict[str, bytes]:
    """The files by name, without temporary files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts and not TEMPORARY.fullmatch(path.name)
    }


def temporary_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if TEMPORARY.fullmatch(path.name)]

"""Child processes that end with this process: terminated, then killed, also if this process is killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

_PR_SET_PDEATHSIG = 1


class Child:
    """A program in the background, with its output in a log file."""

    def __init__(
        self, program: Path, arguments: list[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("wb") as out:
            # A separate session, so that Ctrl-C does not stop the children in the wrong order.
            self._process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=log.parent,
                env=None if environment is None else {**os.environ, **environment},
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (no threads are running when we start)
            )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self, timeout: float = 20) -> None:
        if self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        if self.running:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def free_ports(count: int) -> list[int]:
    """Ports on loopback that are currently free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for free_socket in sockets:
            free_socket.bind(("127.0.0.1", 0))
        return [int(free_socket.getsockname()[1]) for free_socket in sockets]


def _die_with_parent() -> None:
    """Linux: ask for a signal when the parent ends, even by SIGKILL. Elsewhere: nothing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

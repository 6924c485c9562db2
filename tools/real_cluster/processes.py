"""Child processes that never outlive us: stopped in order, killed if they will not, gone if we are killed."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
from pathlib import Path

_PR_SET_PDEATHSIG = 1


class Child:
    """A program in the background, with its output in a file."""

    def __init__(self, program: Path, arguments: list[str], log: Path) -> None:
        self.log = log
        with log.open("wb") as out:
            # A session of its own: Ctrl-C reaches only us, so that the order of stopping stays ours.
            self._process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=log.parent,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (no threads are running when we start)
            )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self, patience: float = 20) -> None:
        if self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        if self.running:
            self._process.kill()
            self._process.wait()

    def last_words(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on at the moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(socket.getsockname()[1]) for socket in sockets]


def _die_with_parent() -> None:
    """Linux: ask for a signal when the parent ends, even by SIGKILL. Elsewhere: nothing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

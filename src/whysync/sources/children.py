"""Other programs, run as children that can neither hang nor eat the machine.

A child gets only the environment that it is given, a home of its own, a bound on time, memory and output, and
no terminal to ask on. When its time is over, it and all that it started are killed.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import IO, Final

_PIECE: Final = 1 << 16
_LONGEST_COMPLAINT: Final = 256 * 1024
# Where a child without network is sent: the discard port of this machine, which nobody serves.
NOWHERE: Final = "127.0.0.1:9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """`memory` counts address space; 0 is "no bound", which is right for `git` and its mapped packs."""

    seconds: float = 90.0
    memory: int = 0
    output: int = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    code: int
    out: bytes
    complaint: str

    @property
    def cause(self) -> str:
        """As Go words it: `exit status 1`, `signal: killed`."""
        if self.code >= 0:
            return f"exit status {self.code}"
        return f"signal: {_SIGNALS.get(-self.code, str(-self.code))}"


_SIGNALS: Final[dict[int, str]] = {
    signal.SIGKILL: "killed",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "aborted",
    signal.SIGTERM: "terminated",
}


class TooSlow(Exception):
    """The child was killed when its time was over."""


class TooMuchSaid(Exception):
    """The child was killed because it wrote more than it may."""


class NotStarted(Exception):
    """The program is not there, or may not be run."""


def environment(home: Path, *, network: bool, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child knows: a path to programs, a home of its own, nothing of the user's.

    Without network, proxies lead nowhere and Git has no protocol: no program that whysync runs has another
    way out.
    """
    given = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    if network:
        given["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git"
        passed = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
        for name in (*passed, *(name.lower() for name in passed)):
            if name in os.environ:
                given[name] = os.environ[name]
    else:
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
            given[name] = given[name.lower()] = f"http://{NOWHERE}"
        given["GIT_ALLOW_PROTOCOL"] = "none"
    return {**given, **(more or {})}


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    bounds: Bounds,
    given: bytes = b"",
    apart: bool = False,
) -> Finished:
    """Runs a program to its end; `apart` from all networks, where the system lets a user do that.

    Raises `TooSlow`, `TooMuchSaid`, `NotStarted`.
    """
    command = [*_namespace(), *arguments] if apart else list(arguments)
    if any("\x00" in one for one in command):
        raise NotStarted("an argument holds a NUL character")
    if bounds.memory:
        command = ["/bin/sh", "-c", f'{_limits(bounds)} exec "$@"', "sh", *command]
    child: subprocess.Popen[bytes] | None = None
    try:
        with _signals_delayed():
            child = _started(command, folder, env, given=given)
        out, complaint = _read(child, given, bounds)
        code = child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        raise TooSlow from None
    finally:
        if child is not None:
            _end(child)
    return Finished(code=code, out=out, complaint=complaint.decode("utf-8", "replace").strip())


def _started(
    command: Sequence[str], folder: Path, env: Mapping[str, str], *, given: bytes
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as problem:
        raise NotStarted(problem.strerror or str(problem)) from problem


@contextmanager
def _signals_delayed() -> Generator[None]:
    """Delays Ctrl-C and SIGTERM to the end of the block.

    Their handlers raise: in the middle of `Popen` the child runs already, but nobody knows it to kill it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    arrived: list[tuple[int, FrameType | None]] = []

    def delay(number: int, frame: FrameType | None) -> None:
        arrived.append((number, frame))

    def deliver() -> None:
        for number, frame in arrived:
            handlers[number](number, frame)

    with ExitStack() as after:
        after.callback(deliver)
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                after.callback(signal.signal, number, handler)
                signal.signal(number, delay)
        yield


def _limits(bounds: Bounds) -> str:
    """The shell sets them and becomes the program; a hook in the forked interpreter could deadlock.

    Processor time ends a child whose parent was killed and cannot watch the clock any more.
    """
    busy = int(bounds.seconds + 1) * (os.cpu_count() or 1)
    return f"ulimit -v {bounds.memory // 1024} 2>/dev/null; ulimit -t {busy} 2>/dev/null;"


@lru_cache(maxsize=1)
def _namespace() -> tuple[str, ...]:
    """A network namespace without a way out; containers often forbid it, and then proxies must do."""
    program = shutil.which("unshare")
    if program is None:
        return ()
    command = (program, "--user", "--net", "--map-current-user")
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if tried.returncode == 0 else ()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of the child's group is left behind, whatever happened."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _read(child: subprocess.Popen[bytes], given: bytes, bounds: Bounds) -> tuple[bytes, bytes]:
    assert child.stdout is not None
    assert child.stderr is not None
    end = time.monotonic() + bounds.seconds
    said: dict[IO[bytes], bytearray] = {child.stdout: bytearray(), child.stderr: bytearray()}
    rest = memoryview(given)
    with selectors.DefaultSelector() as waiting:
        for stream in said:
            waiting.register(stream, selectors.EVENT_READ)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            waiting.register(child.stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise TooSlow
            for key, _ in waiting.select(left):
                stream = key.fileobj
                if child.stdin is not None and stream is child.stdin:
                    rest = _write(child.stdin, rest)
                    if not rest:
                        waiting.unregister(child.stdin)
                        with suppress(OSError):
                            child.stdin.close()
                    continue
                piece = os.read(key.fd, _PIECE)
                kept = said[child.stdout if key.fd == child.stdout.fileno() else child.stderr]
                if not piece:
                    waiting.unregister(stream)
                elif kept is said[child.stdout]:
                    kept += piece
                    if len(kept) > bounds.output:
                        raise TooMuchSaid
                elif len(kept) < _LONGEST_COMPLAINT:
                    kept += piece
    return bytes(said[child.stdout]), bytes(said[child.stderr])


def _write(stream: IO[bytes], rest: memoryview) -> memoryview:
    try:
        return rest[os.write(stream.fileno(), rest[:_PIECE]) :]
    except BlockingIOError:
        return rest
    except OSError:  # a child that does not listen will say why it ended
        return rest[:0]

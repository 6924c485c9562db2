"""A child process for code that users write: it can be stopped, and it cannot eat the machine.

The child runs `handle(request: bytes) -> bytes` of one module in a loop. It has an empty environment, a
bound on its memory, and no right to write files; who takes longer than allowed is killed, and the next
question starts a fresh child. The limit is processor time of the child where the system reports it, so that a
busy machine does not change an answer. Nothing here knows what is asked.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    import subprocess

_HEADER = struct.Struct(">I")
_LARGEST_ANSWER = 256 * 1024 * 1024
_SECONDS_TO_START = 60.0
_REAL_TIME = 20  # times the processor time that is allowed: for a child that waits instead of computing
_SHORTEST_WAIT = 0.01
_BOOT = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); import whysync.processes.sandbox as w; w.serve()"
)


class WorkerTooSlow(Exception):
    """The answer did not come in time; the child is gone."""


class WorkerDied(Exception):
    """The child ended without an answer: most often it hit its bound on memory."""


class Worker:
    """One child at a time, started when it is first needed; safe to share between threads."""

    def __init__(self, module: str, *, memory: int) -> None:
        self._module = module
        self._memory = memory
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def ask(self, request: bytes, *, seconds: float) -> bytes:
        with self._lock:
            child = self._running()
            try:
                return _exchange(child, request, seconds)
            except (WorkerTooSlow, WorkerDied):
                self._stop()
                raise

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # after a fork the child belongs to the parent
            self._child = None
        if self._child is not None and self._child.poll() is None:
            return self._child
        import subprocess  # most runs never need a child

        self._stop()
        paths = [path for path in sys.path if path]
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, json.dumps(paths), self._module, str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            close_fds=True,
        )
        if not self._owner:
            atexit.register(self.close)
        self._child, self._owner = child, os.getpid()
        _exchange(child, b"", _SECONDS_TO_START)  # loading the libraries does not count as thinking
        return child

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        child.kill()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was not yet sent cannot be sent any more
                    continue
        child.wait()


def _exchange(child: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    frame = _HEADER.pack(len(request)) + request
    try:
        if hasattr(select, "poll"):
            return _Conversation(child, child.stdin, child.stdout, seconds).answer_to(frame)
        return _watched(child, child.stdin, child.stdout, frame, seconds)
    except OSError:
        raise WorkerDied from None


class _Conversation:
    """One question over two pipes: waiting for either ends with the time that is allowed."""

    def __init__(
        self, child: subprocess.Popen[bytes], requests: IO[bytes], answers: IO[bytes], seconds: float
    ) -> None:
        self._child = child.pid
        self._requests = requests.fileno()
        self._answers = answers.fileno()
        used = _processor_seconds(self._child)
        self._busy_end = None if used is None else used + seconds
        self._end = time.monotonic() + (seconds if used is None else seconds * _REAL_TIME)

    def answer_to(self, frame: bytes) -> bytes:
        os.set_blocking(self._requests, False)  # a child that does not read must not hold us up
        rest = memoryview(frame)
        while rest:
            self._wait(self._requests, select.POLLOUT)
            rest = rest[os.write(self._requests, rest) :]
        (length,) = cast(tuple[int], _HEADER.unpack(self._read(_HEADER.size)))
        if length > _LARGEST_ANSWER:
            raise WorkerDied
        return self._read(length)

    def _read(self, length: int) -> bytes:
        pieces: list[bytes] = []
        while length:
            self._wait(self._answers, select.POLLIN)
            piece = os.read(self._answers, min(length, 1 << 20))
            if not piece:
                raise WorkerDied
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def _wait(self, pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        while (remaining := self._remaining_seconds()) > 0:
            if poll.poll(max(remaining, _SHORTEST_WAIT) * 1000):
                return
        if not poll.poll(0):
            raise WorkerTooSlow

    def _remaining_seconds(self) -> float:
        remaining = self._end - time.monotonic()
        used = _processor_seconds(self._child)
        return remaining if self._busy_end is None or used is None else min(remaining, self._busy_end - used)


def _processor_seconds(process: int) -> float | None:
    """Processor time that another process has used, where the system reports it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime(~process << 3 | 2)  # what clock_getcpuclockid(3) returns
    except OSError:  # the process has ended
        return None


def _watched(
    child: subprocess.Popen[bytes], requests: IO[bytes], answers: IO[bytes], frame: bytes, seconds: float
) -> bytes:
    """The same where pipes cannot be polled: a clock in another thread kills the child."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        child.kill()

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        requests.write(frame)
        requests.flush()
        answer = _read_frame(answers)
    except OSError:
        answer = None
    finally:
        timer.cancel()
        timer.join()  # from here on it kills nobody
    if late.is_set():  # an answer at the last moment came from a child that is dead now
        raise WorkerTooSlow
    if answer is None:
        raise WorkerDied
    return answer


def _read_frame(stream: IO[bytes]) -> bytes | None:
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = cast(tuple[int], _HEADER.unpack(header))
    if length > _LARGEST_ANSWER:
        return None
    body = stream.read(length)
    return body if len(body) == length else None


def serve() -> None:
    """The child's side: bound itself, load the module, answer until the parent is gone."""
    module, memory = sys.argv[2], int(sys.argv[3])
    _bound(memory)
    handle = cast(Callable[[bytes], bytes], importlib.import_module(module).handle)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while (request := _read_frame(requests)) is not None:
        answer = handle(request) if request else b""
        answers.write(_HEADER.pack(len(answer)) + answer)
        answers.flush()


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:  # no such limits outside POSIX; the time limit still holds
        return
    for limit, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # a stricter limit is already there
            continue

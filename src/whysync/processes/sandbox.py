"""A sandboxed child process for code that users write, with limits on time and memory.

The child runs `handle(request: bytes) -> bytes` of one module in a loop. It has an empty environment, a
memory limit, and cannot write files. A child that takes too long is killed, and the next request starts a new
one. The limit is processor time of the child where the system reports it, so that results do not depend on
the load of the machine.
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
_LARGEST_RESPONSE = 256 * 1024 * 1024
_SECONDS_TO_START = 60.0
_REAL_TIME = 20  # factor from processor time to real time, for a child that waits instead of computing
_SHORTEST_WAIT = 0.01
_BOOT = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); import whysync.processes.sandbox as w; w.serve()"
)


class WorkerTooSlow(Exception):
    """There was no response in time; the child was killed."""


class WorkerDied(Exception):
    """The child ended without a response, usually because of its memory limit."""


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
        _exchange(child, b"", _SECONDS_TO_START)  # so that imports do not count against the first request
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
                except OSError:  # data that was not sent yet is dropped
                    continue
        child.wait()


def _exchange(child: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    frame = _HEADER.pack(len(request)) + request
    try:
        if hasattr(select, "poll"):
            return _Exchange(child, child.stdin, child.stdout, seconds).response_to(frame)
        return _watched(child, child.stdin, child.stdout, frame, seconds)
    except OSError:
        raise WorkerDied from None


class _Exchange:
    """One request and its response over two pipes, within the time limit."""

    def __init__(
        self, child: subprocess.Popen[bytes], requests: IO[bytes], responses: IO[bytes], seconds: float
    ) -> None:
        self._child = child.pid
        self._requests = requests.fileno()
        self._responses = responses.fileno()
        used = _processor_seconds(self._child)
        self._cpu_end = None if used is None else used + seconds
        self._end = time.monotonic() + (seconds if used is None else seconds * _REAL_TIME)

    def response_to(self, frame: bytes) -> bytes:
        os.set_blocking(self._requests, False)  # a child that does not read must not block us
        unsent = memoryview(frame)
        while unsent:
            self._wait(self._requests, select.POLLOUT)
            unsent = unsent[os.write(self._requests, unsent) :]
        (length,) = cast(tuple[int], _HEADER.unpack(self._read(_HEADER.size)))
        if length > _LARGEST_RESPONSE:
            raise WorkerDied
        return self._read(length)

    def _read(self, length: int) -> bytes:
        chunks: list[bytes] = []
        while length:
            self._wait(self._responses, select.POLLIN)
            chunk = os.read(self._responses, min(length, 1 << 20))
            if not chunk:
                raise WorkerDied
            chunks.append(chunk)
            length -= len(chunk)
        return b"".join(chunks)

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
        return remaining if self._cpu_end is None or used is None else min(remaining, self._cpu_end - used)


def _processor_seconds(process: int) -> float | None:
    """Processor time that another process has used, where the system reports it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime(~process << 3 | 2)  # what clock_getcpuclockid(3) returns
    except OSError:  # the process has ended
        return None


def _watched(
    child: subprocess.Popen[bytes], requests: IO[bytes], responses: IO[bytes], frame: bytes, seconds: float
) -> bytes:
    """As `_Exchange`, where pipes cannot be polled: a timer thread kills the child."""
    timed_out = threading.Event()

    def kill_child() -> None:
        timed_out.set()
        child.kill()

    timer = threading.Timer(seconds, kill_child)
    timer.daemon = True
    timer.start()
    try:
        requests.write(frame)
        requests.flush()
        response = _read_frame(responses)
    except OSError:
        response = None
    finally:
        timer.cancel()
        timer.join()  # the timer cannot kill the child any more
    if timed_out.is_set():  # even if there is a response: the child has been killed
        raise WorkerTooSlow
    if response is None:
        raise WorkerDied
    return response


def _read_frame(stream: IO[bytes]) -> bytes | None:
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = cast(tuple[int], _HEADER.unpack(header))
    if length > _LARGEST_RESPONSE:
        return None
    body = stream.read(length)
    return body if len(body) == length else None


def serve() -> None:
    """The loop of the child: set its limits, load the module, respond until the parent closes the pipe."""
    module, memory = sys.argv[2], int(sys.argv[3])
    _bound(memory)
    handle = cast(Callable[[bytes], bytes], importlib.import_module(module).handle)
    requests, responses = sys.stdin.buffer, sys.stdout.buffer
    while (request := _read_frame(requests)) is not None:
        response = handle(request) if request else b""
        responses.write(_HEADER.pack(len(response)) + response)
        responses.flush()


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:  # not available outside POSIX; the time limit still applies
        return
    for limit, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # a stricter limit is already set
            continue

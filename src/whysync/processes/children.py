"""Run other programs as child processes with limits on time, memory and output.

A child gets only the environment that it is given, its own home directory, and no terminal. When its time is
over, it and all processes that it started are killed.
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
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import IO, Final, TypeVar

import msgspec

T = TypeVar("T")

_CHUNK: Final = 1 << 16
_MAX_STDERR: Final = 256 * 1024
# Proxy for children without network: the discard port of this machine, where nothing listens.
NOWHERE: Final = "127.0.0.1:9"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """`memory` limits the address space; 0 is no limit, as needed for `git`, which maps its packs.

    `file_bytes` limits the size of each file that it writes; 0 is no limit.
    """

    seconds: float = 90.0
    memory: int = 0
    output: int = 256 << 20
    file_bytes: int = 0


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    out: bytes
    complaint: str

    @property
    def cause(self) -> str:
        """The exit as Go reports it: `exit status 1`, `signal: killed`."""
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


class TooMuchOutput(Exception):
    """The child was killed because it wrote more than `Bounds.output`."""


class NotStarted(Exception):
    """The program does not exist or cannot be executed."""


class Ended(Exception):
    """The program ended before it was ready; the message is its standard error."""


class Canceller:
    """Kills a child from another thread, such as after Ctrl-C while a task waits for the child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._child is not None:
                _kill(self._child)

    def attach(self, child: subprocess.Popen[bytes] | None) -> None:
        """Set the child until it is waited for; its process id may be reused after that."""
        with self._lock:
            self._child = child
            if child is not None and self._cancelled:
                _kill(child)


def environment(home: Path, *, network: bool, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: PATH and its own HOME, nothing else of the user.

    Without network, the proxy does not exist and Git has no protocol: the programs that whysync runs have no
    other access to the network.
    """
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    if network:
        variables["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git"
        passed = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
        for name in (*passed, *(name.lower() for name in passed)):
            if name in os.environ:
                variables[name] = os.environ[name]
    else:
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
            variables[name] = variables[name.lower()] = f"http://{NOWHERE}"
        variables["GIT_ALLOW_PROTOCOL"] = "none"
    return {**variables, **(more or {})}


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    bounds: Bounds,
    input: bytes = b"",
    apart: bool = False,
    terminal: bool = False,
    canceller: Canceller | None = None,
) -> Finished:
    """Run a program to its end; `apart`: in a network namespace without interfaces, if the system permits it.

    With `terminal` it may prompt the user: it inherits standard input and standard error.
    Raises `TooSlow`, `TooMuchOutput`, `NotStarted`.
    """
    command = [*_namespace(), *arguments] if apart else list(arguments)
    if any("\x00" in argument for argument in command):
        raise NotStarted("an argument contains a NUL character")
    if bounds.memory or bounds.file_bytes:
        command = ["/bin/sh", "-c", f'{_limits(bounds)} exec "$@"', "sh", *command]
    child: subprocess.Popen[bytes] | None = None
    try:
        with _signals_delayed():
            child = _started(command, folder, env, input=input, terminal=terminal)
        if canceller is not None:
            canceller.attach(child)
        with _foreground(child) if terminal else nullcontext():
            out, complaint = _read(child, input, bounds)
            code = child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        raise TooSlow from None
    finally:
        if canceller is not None:
            canceller.attach(None)
        if child is not None:
            _end(child)
    return Finished(code=code, out=out, complaint=complaint.decode("utf-8", "replace").strip())


@contextmanager
def _signals_delayed() -> Generator[None]:
    """Delay Ctrl-C and SIGTERM to the end of the block.

    Their handlers raise: in the middle of `Popen` the child already runs, but cannot be killed yet.
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


@contextmanager
def running(
    arguments: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    bounds: Bounds,
    ready: Callable[[bytes], T | None],
) -> Generator[T]:
    """Keep a program running; `ready` matches the output that shows that it has started.

    `bounds` are for the start. Raises `TooSlow`, `TooMuchOutput`, `NotStarted`, `Ended`.
    """
    child: subprocess.Popen[bytes] | None = None
    draining: threading.Thread | None = None
    try:
        with _signals_delayed():
            child = _started(arguments, folder, env)
        value = _until_ready(child, bounds, ready)
        draining = threading.Thread(target=_drain, args=(child,), daemon=True)
        draining.start()  # the program would block if its output were not read
        yield value
    finally:
        if child is not None:
            _kill(child)
            if draining is not None:
                draining.join(5)
            _end(child)


def _until_ready(child: subprocess.Popen[bytes], bounds: Bounds, ready: Callable[[bytes], T | None]) -> T:
    end = time.monotonic() + bounds.seconds
    output, errors = bytearray(), bytearray()
    assert child.stdout is not None
    assert child.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, output)
        selector.register(child.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise TooSlow
            for key, _ in selector.select(seconds_left):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
                if len(output) + len(errors) > bounds.output:
                    raise TooMuchOutput
            value = ready(bytes(output))
            if value is not None:
                return value
    raise Ended(errors.decode("utf-8", "replace").strip())


def _drain(child: subprocess.Popen[bytes]) -> None:
    with selectors.DefaultSelector() as waiting:
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                if not os.read(key.fd, _CHUNK):
                    waiting.unregister(key.fileobj)


def _started(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    input: bytes = b"",
    terminal: bool = False,
) -> subprocess.Popen[bytes]:
    """Start the leader of a new process group, so that all its descendants can be killed with it."""
    stdin = subprocess.PIPE if input else subprocess.DEVNULL
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(env),
            stdin=None if terminal else stdin,
            stdout=subprocess.PIPE,
            stderr=None if terminal else subprocess.PIPE,
            # A new session has no terminal; a new group keeps it.
            start_new_session=not terminal,
            process_group=0 if terminal else None,
        )
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the environment
        why = problem.strerror if isinstance(problem, OSError) else None
        raise NotStarted(why or str(problem)) from problem


@contextmanager
def _foreground(child: subprocess.Popen[bytes]) -> Generator[None]:
    """Make the child's group the foreground group of the terminal, as a shell does, and restore it."""
    try:
        _give_terminal(child.pid)
        os.killpg(child.pid, signal.SIGCONT)  # it is stopped if it read from the terminal before this
        yield
    finally:
        _give_terminal(os.getpgrp())


def _give_terminal(group: int) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        with suppress(OSError, ValueError):
            os.tcsetpgrp(0, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _limits(bounds: Bounds) -> str:
    """`ulimit` commands for a shell that then executes the program; a `preexec_fn` could deadlock.

    The CPU limit ends a child whose parent was killed and cannot enforce the timeout.
    """
    cpu_seconds = int(bounds.seconds + 1) * (os.cpu_count() or 1)
    limits = [f"ulimit -t {cpu_seconds} 2>/dev/null;"]
    if bounds.memory:
        limits.append(f"ulimit -v {bounds.memory // 1024} 2>/dev/null;")
    if bounds.file_bytes:  # in blocks of 512 bytes
        limits.append(f"ulimit -f {bounds.file_bytes // 512} 2>/dev/null;")
    return " ".join(limits)


@lru_cache(maxsize=1)
def _namespace() -> tuple[str, ...]:
    """Command for a network namespace without interfaces; empty if that is not permitted."""
    program = shutil.which("unshare")
    if program is None:
        return ()
    command = (program, "--user", "--net", "--map-current-user")
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if tried.returncode == 0 else ()


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's process group, reap the child and close its pipes."""
    _kill(child)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _read(child: subprocess.Popen[bytes], input: bytes, bounds: Bounds) -> tuple[bytes, bytes]:
    assert child.stdout is not None
    end = time.monotonic() + bounds.seconds
    out, errors, error_bytes = bytearray(), bytearray(), 0
    buffers: dict[IO[bytes], bytearray] = {child.stdout: out}
    if child.stderr is not None:
        buffers[child.stderr] = errors
    unsent = memoryview(input)
    with selectors.DefaultSelector() as selector:
        for stream in buffers:
            selector.register(stream, selectors.EVENT_READ)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise TooSlow
            for key, _ in selector.select(seconds_left):
                stream = key.fileobj
                if child.stdin is not None and stream is child.stdin:
                    unsent = _write(child.stdin, unsent)
                    if not unsent:
                        selector.unregister(child.stdin)
                        with suppress(OSError):
                            child.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(stream)
                elif key.fd == child.stdout.fileno():
                    out += chunk
                    if len(out) > bounds.output:
                        raise TooMuchOutput
                else:
                    error_bytes += len(chunk)
                    errors += chunk[: _MAX_STDERR - len(errors)]
                    if error_bytes > bounds.output:
                        raise TooMuchOutput
    return bytes(out), bytes(errors)


def _write(stream: IO[bytes], unsent: memoryview) -> memoryview:
    try:
        return unsent[os.write(stream.fileno(), unsent[:_CHUNK]) :]
    except BlockingIOError:
        return unsent
    except OSError:  # the child closed its input; its exit code and standard error show why
        return unsent[:0]

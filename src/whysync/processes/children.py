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
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import IO, Final, TypeVar

import msgspec

T = TypeVar("T")

_PIECE: Final = 1 << 16
_LONGEST_COMPLAINT: Final = 256 * 1024
# Proxy for children without network: the discard port of this machine, where nothing listens.
NOWHERE: Final = "127.0.0.1:9"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """`memory` counts address space; 0 is "no bound", which is right for `git` and its mapped packs."""

    seconds: float = 90.0
    memory: int = 0
    output: int = 256 << 20


class Finished(msgspec.Struct, frozen=True, kw_only=True):
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


class TooMuchOutput(Exception):
    """The child was killed because it wrote more than it may."""


class NotStarted(Exception):
    """The program is not there, or may not be run."""


class Ended(Exception):
    """The program ended before it was ready; what it complained about."""


class Leash:
    """Ends a child from another thread, as when the user presses Ctrl-C while a task waits for the child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._pulled = False

    def pull(self) -> None:
        with self._lock:
            self._pulled = True
            if self._child is not None:
                _kill(self._child)

    def hold(self, child: subprocess.Popen[bytes] | None) -> None:
        """From its start until just before it is waited for: a process id may belong to another one after."""
        with self._lock:
            self._child = child
            if child is not None and self._pulled:
                _kill(child)


def environment(home: Path, *, network: bool, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: PATH and its own HOME, nothing else of the user.

    Without network, proxies lead nowhere and Git has no protocol: no program that whysync runs has another
    way out.
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
    leash: Leash | None = None,
) -> Finished:
    """Runs a program to its end; `apart` from all networks, where the system lets a user do that.

    With `terminal` it may ask the user: it gets our standard input and standard error.
    Raises `TooSlow`, `TooMuchOutput`, `NotStarted`.
    """
    command = [*_namespace(), *arguments] if apart else list(arguments)
    if any("\x00" in argument for argument in command):
        raise NotStarted("an argument holds a NUL character")
    if bounds.memory:
        command = ["/bin/sh", "-c", f'{_limits(bounds)} exec "$@"', "sh", *command]
    child: subprocess.Popen[bytes] | None = None
    try:
        with _signals_delayed():
            child = _started(command, folder, env, input=input, terminal=terminal)
        if leash is not None:
            leash.hold(child)
        with _foreground(child) if terminal else nullcontext():
            out, complaint = _read(child, input, bounds)
            code = child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        raise TooSlow from None
    finally:
        if leash is not None:
            leash.hold(None)
        if child is not None:
            _end(child)
    return Finished(code=code, out=out, complaint=complaint.decode("utf-8", "replace").strip())


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


@contextmanager
def running(
    arguments: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    bounds: Bounds,
    ready: Callable[[bytes], T | None],
) -> Generator[T]:
    """Keeps a program running; `ready` matches the output that shows that it has started.

    `bounds` are for the start. Raises `TooSlow`, `TooMuchOutput`, `NotStarted`, `Ended`.
    """
    child: subprocess.Popen[bytes] | None = None
    draining: threading.Thread | None = None
    try:
        with _signals_delayed():
            child = _started(arguments, folder, env)
        value = _until_ready(child, bounds, ready)
        draining = threading.Thread(target=_drain, args=(child,), daemon=True)
        draining.start()  # a program that nobody listens to would block at its next line
        yield value
    finally:
        if child is not None:
            _kill(child)
            if draining is not None:
                draining.join(5)
            _end(child)


def _until_ready(child: subprocess.Popen[bytes], bounds: Bounds, ready: Callable[[bytes], T | None]) -> T:
    end = time.monotonic() + bounds.seconds
    output, complaint = bytearray(), bytearray()
    assert child.stdout is not None
    assert child.stderr is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ, output)
        waiting.register(child.stderr, selectors.EVENT_READ, complaint)
        while waiting.get_map():
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise TooSlow
            for key, _ in waiting.select(seconds_left):
                piece = os.read(key.fd, _PIECE)
                key.data.extend(piece)
                if not piece:
                    waiting.unregister(key.fileobj)
                if len(output) + len(complaint) > bounds.output:
                    raise TooMuchOutput
            value = ready(bytes(output))
            if value is not None:
                return value
    raise Ended(complaint.decode("utf-8", "replace").strip())


def _drain(child: subprocess.Popen[bytes]) -> None:
    with selectors.DefaultSelector() as waiting:
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                if not os.read(key.fd, _PIECE):
                    waiting.unregister(key.fileobj)


def _started(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    input: bytes = b"",
    terminal: bool = False,
) -> subprocess.Popen[bytes]:
    """The leader of a process group of its own, so that all that it starts can be killed with it."""
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
    """Hands the terminal to the child's group, as a shell does, and takes it back."""
    try:
        _give_terminal(child.pid)
        os.killpg(child.pid, signal.SIGCONT)  # it is stopped if it asked for input before this
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


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of the child's group is left behind, whatever happened."""
    _kill(child)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _read(child: subprocess.Popen[bytes], input: bytes, bounds: Bounds) -> tuple[bytes, bytes]:
    assert child.stdout is not None
    end = time.monotonic() + bounds.seconds
    out, complaint, complained = bytearray(), bytearray(), 0
    buffers: dict[IO[bytes], bytearray] = {child.stdout: out}
    if child.stderr is not None:
        buffers[child.stderr] = complaint
    rest = memoryview(input)
    with selectors.DefaultSelector() as waiting:
        for stream in buffers:
            waiting.register(stream, selectors.EVENT_READ)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            waiting.register(child.stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise TooSlow
            for key, _ in waiting.select(seconds_left):
                stream = key.fileobj
                if child.stdin is not None and stream is child.stdin:
                    rest = _write(child.stdin, rest)
                    if not rest:
                        waiting.unregister(child.stdin)
                        with suppress(OSError):
                            child.stdin.close()
                    continue
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    waiting.unregister(stream)
                elif key.fd == child.stdout.fileno():
                    out += piece
                    if len(out) > bounds.output:
                        raise TooMuchOutput
                else:
                    complained += len(piece)
                    complaint += piece[: _LONGEST_COMPLAINT - len(complaint)]
                    if complained > bounds.output:
                        raise TooMuchOutput
    return bytes(out), bytes(complaint)


def _write(stream: IO[bytes], rest: memoryview) -> memoryview:
    try:
        return rest[os.write(stream.fileno(), rest[:_PIECE]) :]
    except BlockingIOError:
        return rest
    except OSError:  # a child that does not listen will say why it ended
        return rest[:0]

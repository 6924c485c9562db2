"""Runs scripts in a child process that is started when first needed, reused, and killed when it hangs.

This is the one place below `semantics` that does I/O: a script that will not end can only be stopped from
outside. Time, memory and rights are limited in the child too (see worker.py), so killing is the last resort.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Final, cast

import msgspec

from whysync.contracts.tree import Json, Object, fields, items, text
from whysync.semantics.lua.running import Failed, Returned
from whysync.semantics.lua.words import gopher_syntax_error, gopher_words

# More than the second that a script may compute: a busy machine must not look like a script that hangs.
PATIENCE: Final = 3.0
_LARGEST: Final = 64 << 20
_TOO_LATE: Final = "context deadline exceeded"


class LuaProcess:
    """A `LuaRunner`. One script at a time; safe to use from several threads and after a fork."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def run(
        self, script: str, obj: Object, *, open_libs: bool, now: float | None = None
    ) -> Returned | Failed:
        moment = int(time.time() if now is None else now)
        question = {"script": script, "object": obj, "openLibs": open_libs, "now": moment}
        try:
            encoded = msgspec.json.encode(question)
        except (RecursionError, ValueError, TypeError, OverflowError) as problem:
            return Failed(message=f"the object cannot be handed to Lua: {problem}")
        if len(encoded) > _LARGEST:
            return Failed(message="the object is too large for Lua")
        if os.getpid() != self._owner:  # forked: the child and the lock belong to the other process
            self._lock, self._child, self._owner = threading.Lock(), None, os.getpid()
        with self._lock:
            return self._ask(encoded)

    def close(self) -> None:
        if os.getpid() == self._owner:
            with self._lock:
                self._end()

    def _ask(self, question: bytes) -> Returned | Failed:
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._child = _start()
            if self._child is None:
                return Failed(message="whysync runs Lua with lupa, which is not installed")
        sent = _send(self._child, question)
        if sent and not _has_answered(self._child, self._patience):
            self._end()
            return Failed(message=_TOO_LATE)
        answer = _receive(self._child) if sent else None
        if answer is None:
            self._end()
            return Failed(message="the script exhausted its sandbox")
        return _decoded(answer)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # what was left to write has no reader any more
                        stream.close()
            child.wait()


@cache
def lua_process() -> LuaProcess:
    """The one that all of this program shares."""
    shared = LuaProcess()
    atexit.register(shared.close)
    return shared


def _start() -> subprocess.Popen[bytes] | None:
    lupa = importlib.util.find_spec("lupa")
    if lupa is None or not lupa.submodule_search_locations:
        return None
    packages = Path(lupa.submodule_search_locations[0]).parent
    worker = Path(__file__).with_name("worker.py")
    kept = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(worker), str(packages)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in kept if name in os.environ},
        cwd=os.path.abspath(os.sep),
    )


def _send(child: subprocess.Popen[bytes], question: bytes) -> bool:
    assert child.stdin is not None
    try:
        child.stdin.write(len(question).to_bytes(4, "big") + question)
        child.stdin.flush()
    except OSError:  # it is gone
        return False
    return True


def _has_answered(child: subprocess.Popen[bytes], patience: float) -> bool:
    """Wait for an answer, or for the child's end."""
    assert child.stdout is not None
    if sys.platform == "win32":  # pipes cannot be polled there: a thread waits, at some cost
        reader = threading.Thread(target=cast(BufferedReader, child.stdout).peek, daemon=True)
        reader.start()
        reader.join(patience)
        return not reader.is_alive()
    poller = select.poll()
    poller.register(child.stdout, select.POLLIN)
    return bool(poller.poll(patience * 1000))


def _receive(child: subprocess.Popen[bytes]) -> bytes | None:
    """The answer, or `None` when the child is gone."""
    assert child.stdout is not None
    size = int.from_bytes(child.stdout.read(4), "big")
    answer = child.stdout.read(size)
    return answer if size and len(answer) == size else None


def _decoded(answer: bytes) -> Returned | Failed:
    found = fields(cast(Json, json.loads(answer)))
    kind, message = text(found.get("kind")), text(found.get("text"))
    if kind == "error":
        return Failed(message=gopher_words(message))
    if kind == "syntax":
        return Failed(message=gopher_syntax_error(message))
    flat = items(found.get("fields"))
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return Returned(
        type=kind,
        fields=tuple((text(name), value if isinstance(value, str) else None) for name, value in pairs),
    )

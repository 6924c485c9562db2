"""Runs Lua scripts in a child process, which can be killed if a script does not end.

Time and memory are also limited inside the child (see child.py).
"""

from __future__ import annotations

import json
import re
import time
from functools import cache
from typing import Final, cast

import msgspec

from whysync.argocd.scripts.lua.running import Failed, Returned
from whysync.json_tree import Json, Object, fields, items, text
from whysync.processes.sandbox import Worker, WorkerDied, WorkerTooSlow

# Longer than the CPU limit of a script, because the machine may be busy.
RESPONSE_SECONDS: Final = 3.0
SCRIPT_SECONDS: Final = 1.0  # as in Argo CD
_MEMORY: Final = 512 << 20
_LARGEST: Final = 64 << 20


class LuaProcess:
    """A `LuaRunner`. One script at a time; safe to use from several threads."""

    def __init__(
        self, *, script_seconds: float = SCRIPT_SECONDS, response_seconds: float = RESPONSE_SECONDS
    ) -> None:
        self._script_seconds = script_seconds
        self._response_seconds = response_seconds
        self._worker = Worker("whysync.argocd.scripts.lua.child", memory=_MEMORY)

    def run(
        self, script: str, obj: Object, *, open_libs: bool, now: float | None = None
    ) -> Returned | Failed:
        moment = int(time.time() if now is None else now)
        question = {
            "script": script,
            "object": obj,
            "openLibs": open_libs,
            "now": moment,
            "seconds": self._script_seconds,
        }
        try:
            encoded = msgspec.json.encode(question)
        except (RecursionError, ValueError, TypeError, OverflowError) as problem:
            return Failed(message=f"the object cannot be handed to Lua: {problem}")
        if len(encoded) > _LARGEST:
            return Failed(message="the object is too large for Lua")
        try:
            return _decoded(self._worker.ask(encoded, seconds=self._response_seconds))
        except WorkerTooSlow:
            return Failed(message="context deadline exceeded")
        except WorkerDied:
            return Failed(message="the script exhausted its sandbox")

    def close(self) -> None:
        self._worker.close()


@cache
def lua_process() -> LuaProcess:
    """The shared runner of this process."""
    return LuaProcess()


def _decoded(response: bytes) -> Returned | Failed:
    reply = fields(cast(Json, json.loads(response)))
    kind, message = text(reply.get("kind")), text(reply.get("text"))
    if kind == "error":
        return Failed(message=gopher_words(message))
    if kind == "syntax":
        return Failed(message=gopher_syntax_error(message))
    flat = items(reply.get("fields"))
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return Returned(
        type=kind,
        fields=tuple((text(name), value if isinstance(value, str) else None) for name, value in pairs),
    )


_REWORDED = (
    (r"bad argument #(\d+) to '([^']*)'", r"bad argument #\1 to \2"),
    (r"got no value\)", "got nil)"),
    (r"'for' initial value must be a number", "for statement init must be a number"),
    (r"'for' (limit|step) must be a number", r"for statement \1 must be a number"),
    (r"attempt to compare two (\w+) values", r"attempt to compare \1 with \1"),
    (r"attempt to call .*\(a \w+ value\)", "attempt to call a non-function object"),
    (r"attempt to call a \w+ value", "attempt to call a non-function object"),
    (r"stack overflow.*", "stack overflow"),
)
_SYNTAX = re.compile(r"<string>:(\d+): (.*) near '(.*)'", re.DOTALL)


def gopher_words(message: str) -> str:
    """Differs from gopher-lua: the operands of arithmetic on two tables stay unnamed."""
    for pattern, replacement in _REWORDED:
        message = re.sub(pattern, replacement, message, flags=re.DOTALL)
    return message


def gopher_syntax_error(message: str) -> str:
    """Differs from gopher-lua: no column."""
    matched = _SYNTAX.fullmatch(message)
    if matched is None:
        return message
    line, _, token = matched.groups()
    if token == "<eof>":
        return "<string> at EOF:   syntax error\n"
    return f"<string> line:{line} near '{token}':   syntax error\n"

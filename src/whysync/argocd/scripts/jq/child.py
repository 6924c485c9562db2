"""Child process that runs libjq, which may hang or crash.

A request is a program, a zero byte, and a JSON text; without the text the program is only compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol, cast

import jq  # the child loads this module for nothing else

COMPILED, VALUE, BAD_PROGRAM, FAILED = b"c", b"v", b"b", b"f"


class _Input(Protocol):
    def __iter__(self) -> Iterator[object]: ...


class _Program(Protocol):
    def input_text(self, text: str) -> _Input: ...


@lru_cache(maxsize=512)
def _compiled(program: str) -> _Program:
    compile_program = cast(Any, jq).compile  # the library has no types
    return cast(_Program, compile_program(program))


def handle(request: bytes) -> bytes:
    program, _, document = request.partition(b"\0")
    try:
        code = _compiled(program.decode())
    except ValueError as problem:
        return BAD_PROGRAM + str(problem).encode(errors="replace")
    if not document:
        return COMPILED
    try:
        return _run(code, document.decode())
    except (ValueError, RecursionError) as problem:
        return FAILED + f"JQ patch returned error: {problem}".encode(errors="replace")


def _run(code: _Program, document: str) -> bytes:
    import json

    results = iter(code.input_text(document))
    try:
        first = next(results)
    except StopIteration:
        return FAILED + b"JQ patch did not return any data"
    try:
        next(results)
    except StopIteration:
        return VALUE + json.dumps(first).encode()
    except ValueError:
        pass  # an error is a second answer too
    return FAILED + b"JQ patch returned multiple objects"

"""Child process that runs a user's script in a new Lua state, inside sandbox.lua.

Only the child imports this. Lua receives plain tables and no other Python objects.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

_LUA_BYTES = 96 << 20
_PROCESSOR_SECONDS = 10
_LONGEST_TEXT = 8192


def handle(request: bytes) -> bytes:
    """Handles a request; request and response are JSON."""
    engines = _engines()
    _extend_processor_time()
    try:
        response = _answer(json.loads(request), engines)
    except MemoryError:
        response = {"kind": "error", "text": "not enough memory"}
    except RecursionError:
        response = {"kind": "error", "text": "the object is nested too deeply for Lua"}
    return json.dumps(response).encode()


class _Engine:
    """A Lua implementation of lupa, with the compiled sandbox."""

    def __init__(self, name: str, sandbox: bytes, options: dict[str, Any]) -> None:
        self.lua = importlib.import_module(f"lupa.{name}")
        self.options = options
        runtime = self.fresh()
        self.sandbox: bytes = runtime.execute(b"return string.dump(...)", runtime.compile(sandbox))

    def fresh(self) -> Any:
        return self.lua.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            attribute_filter=_refuse,
            **self.options,
        )


@cache
def _engines() -> list[_Engine]:
    """The engines in order of preference; gopher-lua is Lua 5.1 with `goto`, like LuaJIT."""
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    sandbox = Path(__file__).with_name("sandbox.lua").read_bytes()
    engines = [_Engine("lua51", sandbox, {"max_memory": _LUA_BYTES})]
    with contextlib.suppress(ImportError):
        engines.append(_Engine("luajit21", sandbox, {}))
    return engines


def _answer(question: dict[str, Any], engines: list[_Engine]) -> dict[str, Any]:
    script: bytes = question["script"].encode(errors="surrogatepass")
    engine = engines[-1] if b"goto" in script else engines[0]
    try:
        runtime = engine.fresh()
        obj = runtime.table_from(_lua_value(question["object"]), recursive=True)
        run: Callable[..., Any] = runtime.compile(engine.sandbox)
        limits = (question["seconds"], _LONGEST_TEXT)
        result = run(script, obj, question["openLibs"], question["now"], *limits)
    except engine.lua.LuaMemoryError:
        return {"kind": "error", "text": "not enough memory"}
    except engine.lua.LuaError as problem:
        return {"kind": "error", "text": str(problem).partition("\nstack traceback")[0][:_LONGEST_TEXT]}
    kind, text, *rest = result
    fields = [_text(value) for value in rest[0].values()] if rest and rest[0] is not None else []
    return {"kind": _text(kind), "text": _text(text), "fields": fields}


def _lua_value(value: Any) -> Any:
    """A value for Lua: strings as bytes, integers in Lua's range, and no `null`.

    Mirrors `decodeValue`, Argo CD 3.6: a `null` in a list is removed.
    """
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value).items()
        return {
            key.encode(errors="surrogatepass"): _lua_value(item) for key, item in pairs if item is not None
        }
    if isinstance(value, list):
        return [_lua_value(item) for item in cast(list[Any], value) if item is not None]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _refuse(*_: object) -> NoReturn:
    raise AttributeError("scripts do not reach Python")


def _extend_processor_time() -> None:
    """Limits the CPU time of this process, in case the parent does not kill it."""
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + _PROCESSOR_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))

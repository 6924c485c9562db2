"""The interface of a Lua runner."""

from __future__ import annotations

from typing import Protocol

import msgspec

from whysync.json_tree import Object


class Returned(msgspec.Struct, frozen=True, kw_only=True):
    """`type` is the Lua type of the result; `array` is a table that is a JSON list."""

    type: str
    fields: tuple[tuple[str, str | None], ...] = ()
    """The sorted fields of a table named status and message, in any case; `None` if not a string."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    message: str


class LuaRunner(Protocol):
    def run(
        self, script: str, obj: Object, *, open_libs: bool, now: float | None = None
    ) -> Returned | Failed:
        """Never raises because of a script or an object; `now` is the result of `os.time()`."""
        ...

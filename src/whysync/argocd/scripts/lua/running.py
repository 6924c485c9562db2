"""What running a script means, without saying how: the one door between pure code and the sandbox."""

from __future__ import annotations

from typing import Protocol

import msgspec

from whysync.json_tree import Object


class Returned(msgspec.Struct, frozen=True, kw_only=True):
    """`type` is Lua's name for what came back; `array` stands for a table that JSON writes as a list."""

    type: str
    fields: tuple[tuple[str, str | None], ...] = ()
    """The fields of a table named status and message, in any case, sorted; `None`: it was not a text."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    message: str


class LuaRunner(Protocol):
    def run(
        self, script: str, obj: Object, *, open_libs: bool, now: float | None = None
    ) -> Returned | Failed:
        """Never raises for what a script or an object is; `now` is what `os.time()` answers."""
        ...

"""FileLocation: a line of a file in Git."""

from __future__ import annotations

import msgspec


class FileLocation(msgspec.Struct, frozen=True, kw_only=True):
    """A location in a file; `document` and `inside` (a List) identify the object.

    `line` and `column` count from 1, and are 0 if unknown.
    """

    path: str
    line: int = 0
    column: int = 0
    document: int = -1
    inside: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path

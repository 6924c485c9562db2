"""What can be wrong with a document, and where."""

from __future__ import annotations

import msgspec


class YamlLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one document may ask for before it is refused."""

    # As deep as Python code that walks trees may safely recurse; real objects stay below 60.
    depth: int = 256
    # Values that aliases and merge keys add: what a "billion laughs" text multiplies.
    repeated: int = 1_000_000


class Invalid(Exception):
    """This document cannot be read; `line` and `column` count from 1, 0 is "unknown"."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column

"""The user who runs a command, and the result of a command."""

from __future__ import annotations

import msgspec

from whysync.json_tree import Object

Outcome = tuple[str, bool]
"""The output of a command, and whether it failed."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is what `-f -` reads, or what an editor is closed with."""

    user: str = ""
    groups: tuple[str, ...] = ()
    input: tuple[Object, ...] = ()

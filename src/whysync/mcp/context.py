"""What a tool may use: facts, checkouts for plans, the history of incidents, and the time for one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from whysync.deadline import Deadline
from whysync.history.history import History
from whysync.mcp import cursors
from whysync.mcp.answers import MOST_BYTES, Page, most_that_fit
from whysync.mcp.arguments import Arguments
from whysync.mcp.facts import Facts, Reading

T = TypeVar("T")
P = TypeVar("P", bound=Page)


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    facts: Facts
    deadline: Deadline
    now: datetime
    checkouts: tuple[Path, ...] = ()
    """The only folders that `plan` may read."""
    history: History | None = None

    @property
    def has_source(self) -> bool:
        source = self.facts.source(self.deadline)
        return bool(source.bundles or source.server or source.kube)

    def start_of_page(self, tool: str, arguments: Arguments) -> tuple[str, int]:
        """The reading and the offset at which the page begins; both empty for the first page."""
        text: str = getattr(arguments, "cursor", "")
        if not text:
            return "", 0
        cursor = cursors.decode(text, cursors.question_of(tool, arguments))
        return cursor.reading, cursor.offset


def page_of(
    tool: str,
    arguments: Arguments,
    reading: str,
    items: Sequence[T],
    build: Callable[[Sequence[T]], P],
    *,
    offset: int = 0,
    position: Callable[[Sequence[T]], int] | None = None,
    most_items: int = 100,
    most_bytes: int = MOST_BYTES,
) -> P:
    """The items from the offset on that fit into one answer, with a cursor if there are more.

    `position`: where the next page begins, if that is not the number of items before it.
    """
    rest = items[offset : offset + most_items]
    question = cursors.question_of(tool, arguments)

    def with_cursor(shown: Sequence[T]) -> P:
        end = offset + len(shown)
        if end >= len(items):
            return build(shown)
        next_page = position(shown) if position is not None else end
        cursor = cursors.encode(cursors.Cursor(question, reading, next_page))
        return msgspec.structs.replace(build(shown), next_cursor=cursor)

    return with_cursor(rest[: most_that_fit(rest, with_cursor, most_bytes)])


def reading_of_app(context: ToolContext, name: str, reading: str) -> Reading:
    return context.facts.about(name, context.deadline, reading=reading)

"""Parts of sentences: quoted text on one line, counts with their nouns."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 240
_END = 170


def one_line(text: str) -> str:
    """A quoted text as part of a sentence: on one line, and cut where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST].rstrip()}…"


def both_ends(text: str) -> str:
    """A quoted reason on one line. Wrapped errors begin with the action and end with the cause: keep both."""
    flat = " ".join(text.split())
    if len(flat) <= 2 * _END:
        return flat
    start, end = flat[:_END].rpartition(" ")[0], flat[-_END:].partition(" ")[2]
    return f"{start or flat[:_END]} … {end or flat[-_END:]}"


def listed(names: Iterable[object], most: int = 3) -> str:
    """`a, b, c and 2 more`."""
    texts = [str(name) for name in names]
    return ", ".join(texts[:most]) + and_more(len(texts) - most)


def and_more(count: int) -> str:
    """` and 2 more`; empty if there are none."""
    return f" and {count} more" if count > 0 else ""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

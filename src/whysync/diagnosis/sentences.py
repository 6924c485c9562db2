"""Parts of sentences: quoted text on one line, counts with their nouns."""

from __future__ import annotations

_LONGEST = 240


def one_line(text: str) -> str:
    """A quoted text as part of a sentence: on one line, and cut where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST].rstrip()}…"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

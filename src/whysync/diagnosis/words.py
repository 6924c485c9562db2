"""Small words for sentences: foreign text on one line, counts with their nouns."""

from __future__ import annotations

_LONGEST = 240


def one_line(text: str) -> str:
    """Somebody else's words as part of a sentence: their first lines, joined, and not for ever."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST].rstrip()}…"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

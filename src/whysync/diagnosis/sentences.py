"""Parts of sentences: quoted text on one line, counts with their nouns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LONGEST = 240
_BEGINNING = 80
_END = 170


def one_line(text: str) -> str:
    """A quoted error as part of a sentence: on one line; if it is long, its beginning and its end."""
    flat = " ".join(text.split())
    if len(flat) <= _LONGEST:
        return flat
    return _without_middle(flat, _BEGINNING, _LONGEST - _BEGINNING)


def both_ends(text: str) -> str:
    """A quoted reason on one line. Wrapped errors begin with the action and end with the cause: keep both."""
    flat = " ".join(text.split())
    if len(flat) <= 2 * _END:
        return flat
    return _without_middle(flat, _END, _END)


def _without_middle(text: str, beginning: int, end: int) -> str:
    """Cut at spaces, unless a word is longer than half of a part."""
    first, space, cut = text[:beginning].rpartition(" ")
    first = first if space and len(cut) * 2 < beginning else text[:beginning]
    cut, space, last = text[-end:].partition(" ")
    last = last if space and len(cut) * 2 < end else text[-end:]
    return f"{first.rstrip()} … {last.lstrip()}"


def listed(names: Iterable[object], most: int = 3) -> str:
    """`a, b, c and 2 more`."""
    texts = [str(name) for name in names]
    return ", ".join(texts[:most]) + and_more(len(texts) - most)


def both_or_more(names: Sequence[str]) -> str:
    """`a`, `a and b`, or `a (and 2 more)`."""
    return " and ".join(names) if not names[2:] else f"{names[0]} (and {len(names) - 1} more)"


def and_more(count: int) -> str:
    """` and 2 more`; empty if there are none."""
    return f" and {count} more" if count > 0 else ""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

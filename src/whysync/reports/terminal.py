"""Text for a terminal: width, color, marks and tables."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from datetime import timedelta

from whysync.reports.output import styled

_BLANKS = re.compile(r"[ \t\n\r]+")
_CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1", "dim": "2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    width: int = 80
    color: bool = False
    unicode: bool = True

    def paint(self, text: str, *looks: str) -> str:
        if not self.color or not text:
            return text
        return styled(text, ";".join(_CODES[look] for look in looks))

    def mark(self, name: str) -> str:
        plain, fancy = _MARKS[name]
        return fancy if self.unicode else plain

    def wrap(self, text: str, *, indent: int, first: str = "") -> list[str]:
        """`first` begins the first line; the others are indented as far as the text began."""
        room = max(self.width - indent, 20)
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        return [f"{first:<{indent}}{lines[0]}".rstrip(), *(f"{'':<{indent}}{line}" for line in lines[1:])]


_MARKS = {
    "bad": ("x", "✗"),
    "good": ("+", "✓"),
    "wait": ("~", "…"),
    "hourglass": ("~", "⏳"),
    "deed": (">", "▸"),
    "unsure": ("?", "?"),
    "dot": ("-", "·"),
    "arrow": ("->", "→"),
    "branch": ("`-", "└"),
    "left": ("<-", "←"),
}


def one_line(text: str, longest: int = 400) -> str:
    """On one line, and not endless. Blanks other than those of ASCII stay: two values may differ in them."""
    flat = _BLANKS.sub(" ", text).strip(" ")
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def ago(age: timedelta | None) -> str:
    if age is None:
        return ""
    return f"{short_age(age)} ago"


def short_age(age: timedelta) -> str:
    """`41s`, `12m`, `3h`, `5d`, as kubectl writes them; a clock that runs behind gives `0s`."""
    seconds = max(int(age.total_seconds()), 0)
    for size, unit, limit in ((1, "s", 120), (60, "m", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


def table(rows: list[tuple[str, ...]], terminal: Terminal, *, most: int | None = None) -> list[str]:
    """Columns as wide as their widest cell; the last one takes what is left and is cut at the edge."""
    if not rows:
        return []
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        line = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        lines.append(line if most is None or len(line) <= most else f"{line[: most - 1]}…")
    if terminal.color and lines:
        lines[0] = terminal.paint(lines[0], "bold")
    return lines

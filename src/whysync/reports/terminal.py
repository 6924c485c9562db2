"""Text for a terminal: width, colors, symbols, wrapping and tables."""

from __future__ import annotations

import re
import textwrap
from datetime import timedelta
from typing import NamedTuple

from whysync.reports.output import styled

LABEL_WIDTH = 17
"""Columns of a label, with its indentation."""
_BLANKS = re.compile(r"[ \t\n\r]+")
_CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1", "dim": "2"}


class Terminal(NamedTuple):
    """The width of a terminal, and whether it shows colors and Unicode.

    `piped`: the output is not read on a terminal, so nothing has to be cut to its width.
    """

    width: int = 80
    color: bool = False
    unicode: bool = True
    piped: bool = False

    def paint(self, text: str, *styles: str) -> str:
        if not self.color or not text:
            return text
        return styled(text, ";".join(_CODES[style] for style in styles))

    def mark(self, name: str) -> str:
        plain, fancy = _MARKS[name]
        return fancy if self.unicode else plain

    def wrap(self, text: str, *, indent: int, first: str = "") -> list[str]:
        """Lines of text, indented by `indent` columns; `first` is in front of the first one."""
        width = max(self.width - indent, 20)
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
        return [f"{first:<{indent}}{lines[0]}".rstrip(), *(f"{'':<{indent}}{line}" for line in lines[1:])]

    def labeled(self, label: str, text: str, color: str = "dim") -> list[str]:
        """Lines of text with a label in front of the first one."""
        lines = self.wrap(text, indent=LABEL_WIDTH, first=f"    {label}")
        if self.color and label:
            lines[0] = lines[0].replace(label, self.paint(label, color), 1)
        return lines


_MARKS = {
    "bad": ("x", "✗"),
    "good": ("+", "✓"),
    "wait": ("~", "…"),
    "hourglass": ("~", "⏳"),
    "action": (">", "▸"),
    "unsure": ("?", "?"),
    "dot": ("-", "·"),
    "arrow": ("->", "→"),
    "branch": ("`-", "└"),
    "left": ("<-", "←"),
}


def one_line(text: str, longest: int = 400) -> str:
    """Text on one line of limited length. Unicode spaces are kept: two values may differ in them only."""
    flat = _BLANKS.sub(" ", text).strip(" ")
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def ago(age: timedelta | None) -> str:
    if age is None:
        return ""
    return f"{short_age(age)} ago"


def short_age(age: timedelta) -> str:
    """`41s`, `12m`, `3h`, `5d`, as in kubectl; a negative age is `0s`."""
    seconds = max(int(age.total_seconds()), 0)
    for size, unit, limit in ((1, "s", 120), (60, "m", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


def table(rows: list[tuple[str, ...]], terminal: Terminal, *, most: int | None = None) -> list[str]:
    """Columns as wide as their widest cell; lines longer than `most` are truncated."""
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

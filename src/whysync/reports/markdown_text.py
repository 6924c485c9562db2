"""Markdown with values in it: values are text or code, never links, images, mentions or HTML.

Lines are built with `md("- about: {}", value)`. The template is a literal, so a value cannot get into the
page without being escaped; a value that is `Md` already is inserted as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, LiteralString

from whysync.reports.output import Safe, one_safe_line
from whysync.reports.terminal import one_line

_LONGEST: Final = 2_000
_SPECIAL: Final = re.compile(
    r"(?<![0-9A-Za-z])@[0-9A-Za-z][\w/.-]*"  # a mention; it is found in the rendered page, so no escape helps
    r"|#[0-9]+"  # an issue, found the same way
    r"|&(?=#|[A-Za-z]+;)"  # an entity
    r"|(?<!\s)~"  # what could end a struck passage
    r"|[\\`*_\[\]<>|#]",
    re.ASCII,
)


class Md(str):
    """Markdown in which all values are escaped."""

    __slots__ = ()


def md(template: LiteralString, *values: object) -> Md:
    """The template with the values in the places of `{}`."""
    parts = template.split("{}")
    return Md("".join(chain(*zip(parts, [*map(words, values), ""], strict=True))))


BLANK: Final = Md("")


def words(value: object) -> Md:
    """The value as one line of text, with Markdown's special characters escaped."""
    if isinstance(value, Md):
        return value
    return Md(_SPECIAL.sub(_escape, one_line(str(value), _LONGEST)))


def _escape(match: re.Match[str]) -> str:
    special = match[0]
    if special == "&":
        return "&amp;"
    return f"`{special}`" if len(special) > 1 else f"\\{special}"


def code(value: str, longest: int = _LONGEST) -> Md:
    """A code span; it has no escapes, so a backtick becomes a quote."""
    flat = one_line(value, longest).replace("`", "'").replace("|", "\\|")
    return Md(f"`{flat}`")


def joined(separator: LiteralString, values: Iterable[object]) -> Md:
    return Md(separator.join(map(words, values)))


def row(*cells: object) -> Md:
    return Md(f"| {joined(' | ', cells)} |")


def rule(columns: int) -> Md:
    """The line between the head of a table and its body."""
    return Md("|" + "---|" * columns)


def fenced(lines: Sequence[str], language: LiteralString = "", *, indent: LiteralString = "") -> list[Md]:
    """A code block, with a fence longer than any in the lines: a value cannot end it."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    body = (" ".join(line.split("\n")).rstrip("\r") for line in lines)
    return [
        Md(f"{indent}{line}".rstrip() if indent else line) for line in (f"{fence}{language}", *body, fence)
    ]


def page(lines: Iterable[Md], *, longest: int | None = None) -> Safe:
    text = "\n".join(one_safe_line(words(line)) for line in lines)
    return Safe((text if longest is None else text[: longest - 1]).rstrip() + "\n")

"""HTML, SVG and JUnit as XML: values are text in it, never markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, LiteralString

from whysync.reports.output import Safe, one_safe_line
from whysync.reports.terminal import one_line


class Xml(str):
    """Markup in which all values are escaped."""

    __slots__ = ()


XML: Final = Xml('<?xml version="1.0" encoding="UTF-8"?>')
BREAK: Final = Xml("\n")


def tag(name: LiteralString, /, *children: str, **attributes: str | int) -> Xml:
    """What is inside is text unless it is `Xml`. `class_` is class, `aria_label` is aria-label."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(one_line(str(value), 2_000))}"'
        for key, value in attributes.items()
    )
    return Xml(
        f"<{name}{attribute_text}>{joined(children)}</{name}>" if children else f"<{name}{attribute_text}/>"
    )


def joined(parts: Iterable[str], separator: LiteralString = "") -> Xml:
    return Xml(separator.join(map(_escaped, parts)))


def lines_of(text: str, most: int = 200) -> list[Xml]:
    """Text that keeps its lines: a patch, a command."""
    lines = text.splitlines()
    escaped = [_escaped(line[:2_000]) for line in lines[:most]]
    return escaped if len(lines) <= most else [*escaped, Xml(f"({len(lines) - most} more lines)")]


def _escaped(text: str) -> Xml:
    return text if isinstance(text, Xml) else Xml(escape(text.replace("\n", " ")))


def document(xml: Xml) -> Safe:
    return Safe("".join(f"{one_safe_line(line)}\n" for line in xml.removesuffix("\n").split("\n")))


def replaced(document: Safe, old: Xml, new: Xml) -> Safe:
    """The document with the first `old` replaced."""
    return Safe(document.replace(old, new, 1))

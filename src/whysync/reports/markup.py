"""HTML and SVG, written so that they are XML too. What came from outside is text in them, never markup."""

from __future__ import annotations

from html import escape

from whysync.reports.screen import one_line, plain


def words(text: str, longest: int = 400) -> str:
    """On one line, without control characters (XML has none), without markup, and not endless."""
    return escape(one_line(text, longest))


def lines_of(text: str, most: int = 200) -> str:
    """Text that keeps its lines: a patch, a command."""
    found = text.splitlines()
    kept = [escape(plain(line[:2_000])) for line in found[:most]]
    if len(found) > most:
        kept.append(f"({len(found) - most} more lines)")
    return "\n".join(kept)


def tag(name: str, /, *inside: str, **attributes: str | int) -> str:
    """`inside` is markup already; attributes are text. `class_` is class, `aria_label` is aria-label."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{words(str(value), 2_000)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{''.join(inside)}</{name}>" if inside else f"<{name}{told}/>"

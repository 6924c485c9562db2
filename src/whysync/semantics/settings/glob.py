r"""Globs as gobwas/glob 0.2.3 reads them, Argo CD's library: `*`, `**`, `?`, `[abc]`, `[!a-z]`, `{a,b}`, `\`.

A pattern is turned into a regular expression that cannot backtrack from one star into another, so that a
hostile pattern costs no more than a plain one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_MOST_ALTERNATIVES = 1000


def glob_match(pattern: str, text: str, separators: str = "") -> bool:
    """Mirrors `glob.Match`, Argo CD 3.6: a pattern that cannot be read matches nothing."""
    compiled = _compiled(pattern, separators)
    return compiled is not None and compiled.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str, separators: str) -> re.Pattern[str] | None:
    try:
        variants = _expanded(pattern)
        return re.compile("|".join(_expression(variant, separators) for variant in variants), re.DOTALL)
    except (ValueError, re.error, RecursionError):
        return None


def _expanded(pattern: str) -> list[str]:
    """The pattern without braces: `a{b,c}` is `ab` and `ac`."""
    start = _find_unescaped(pattern, "{", 0)
    if start is None:
        return [pattern]
    depth, parts, begin = 0, list[str](), start + 1
    position = start
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
        elif char == "," and depth == 1:
            parts.append(pattern[begin:position])
            begin = position + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                parts.append(pattern[begin:position])
                break
        position += 1
    if depth != 0 or position >= len(pattern):
        raise ValueError("unclosed {")
    rest = pattern[position + 1 :]
    found = [variant for part in parts for variant in _expanded(pattern[:start] + part + rest)]
    if len(found) > _MOST_ALTERNATIVES:
        raise ValueError("too many alternatives")
    return found


def _find_unescaped(pattern: str, wanted: str, position: int) -> int | None:
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == wanted:
            return position
        position += 1
    return None


def _expression(variant: str, separators: str) -> str:
    one = f"[^{re.escape(separators)}]" if separators else "."
    expression, star, piece = "", "", ""
    for token in _tokens(variant):
        if token in ("*", "**"):
            # A piece between two stars is best taken where it first fits, and never given back.
            expression += f"(?>{star}?{piece})" if star else piece
            star, piece = (".*" if token == "**" else f"{one}*"), ""
        else:
            piece += one if token == "?" else token
    return f"(?:{expression}{star}{piece})"


def _tokens(variant: str) -> Iterator[str]:
    """`*`, `**`, `?`, or the expression for one character."""
    position = 0
    while position < len(variant):
        char = variant[position]
        if char == "*":
            end = position
            while end < len(variant) and variant[end] == "*":
                end += 1
            yield "*" if end - position == 1 else "**"
            position = end
        elif char == "[":
            end = variant.find("]", position + 1)
            if end < 0:
                raise ValueError("unclosed [")
            yield _class(variant[position + 1 : end])
            position = end + 1
        else:
            if char == "\\" and position + 1 < len(variant):
                position += 1
            yield "?" if char == "?" else re.escape(variant[position])
            position += 1


def _class(body: str) -> str:
    negated = body.startswith("!")
    chars = body[1:] if negated else body
    if not chars:
        raise ValueError("empty []")
    if len(chars) > 1 and chars[1] == "-":
        if len(chars) != 3 or chars[0] > chars[2]:
            raise ValueError("bad range")
        inner = f"{re.escape(chars[0])}-{re.escape(chars[2])}"
    else:
        inner = re.escape(chars)
    return f"[{'^' if negated else ''}{inner}]"

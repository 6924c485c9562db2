"""Unsafe text: what a terminal obeys, what a reader cannot see, what a CI runner takes for a command."""

from __future__ import annotations

import re
from typing import Final

# Printable for Python, but drawn as nothing: fillers, joiners, and selectors other than those of emoji.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_NOT_ASCII: Final = re.compile(r"[^\n -~]+")
# `##[error]`, `##vso[...]` and `##teamcity[...]` count anywhere in a line.
CI_MARK: Final = re.compile(r"#(?=#[a-z]*\[)")
# `::error::` counts at the beginning of a line, behind blanks and colors too.
CI_COMMAND: Final = re.compile(r"^((?:[^\S\n]|\x1b\[[0-9;]*m)*):(?=:[A-Za-z])", re.MULTILINE)


def is_safe(text: str) -> bool:
    """Controls, line ends, bidi marks, other format characters and lone surrogates are not printable."""
    return text.isprintable() and (text.isascii() or not _INVISIBLE.search(text))


def is_obeyed(text: str) -> bool:
    return bool(CI_MARK.search(text) or CI_COMMAND.search(text))


def escaped(text: str, *, long: bool = False) -> str:
    """Unsafe characters except line ends as `\\uXXXX`; beyond 16 bits as a pair, or `long` as `\\UXXXXXXXX`.

    Half a surrogate pair is not a character, and no parser reads it: U+FFFD takes its place.
    """
    return _NOT_ASCII.sub(lambda found: _escaped(found[0], long=long), text)


def _escaped(run: str, *, long: bool) -> str:
    if is_safe(run):
        return run
    return "".join(letter if is_safe(letter) else _escape(letter, long=long) for letter in run)


def _escape(letter: str, *, long: bool) -> str:
    code = ord(letter)
    if 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    if long:
        return f"\\U{code:08x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"

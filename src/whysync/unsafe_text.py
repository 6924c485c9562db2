"""Unsafe text: terminal control characters, invisible characters, and commands of CI runners."""

from __future__ import annotations

import re
from typing import Final

# Printable in Python, but invisible: fillers, joiners, and variation selectors other than those of emoji.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_NOT_ASCII: Final = re.compile(r"[^\n -~]+")
# `##[error]`, `##vso[...]` and `##teamcity[...]` are commands anywhere in a line.
CI_MARK: Final = re.compile(r"#(?=#[a-z]*\[)")
# `::error::` is a command at the beginning of a line, also after blanks and colors.
CI_COMMAND: Final = re.compile(r"^((?:[^\S\n]|\x1b\[[0-9;]*m)*):(?=:[A-Za-z])", re.MULTILINE)


def is_safe(text: str) -> bool:
    """Is the text free of control, format and invisible characters, line ends and lone surrogates?"""
    return text.isprintable() and (text.isascii() or not _INVISIBLE.search(text))


def has_ci_command(text: str) -> bool:
    return bool(CI_MARK.search(text) or CI_COMMAND.search(text))


def escaped(text: str, *, long: bool = False) -> str:
    """The text with unsafe characters other than line ends as `\\uXXXX`.

    Beyond 16 bits it is a surrogate pair, or `\\UXXXXXXXX` if `long`. A lone surrogate becomes U+FFFD.
    """
    return _NOT_ASCII.sub(lambda match: _escaped(match[0], long=long), text)


def _escaped(run: str, *, long: bool) -> str:
    if is_safe(run):
        return run
    return "".join(char if is_safe(char) else _escape(char, long=long) for char in run)


def _escape(char: str, *, long: bool) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    if long:
        return f"\\U{code:08x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"

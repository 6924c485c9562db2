"""Errors of Go's `regexp/syntax` (Go 1.24) for invalid patterns.

Only errors are detected; patterns are matched elsewhere.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_REPEATS: Final = 1000
_REPEAT: Final = re.compile(r"\{(\d+)(,(\d*))?\}")
_GROUP_FLAGS: Final = re.compile(r"\?(?:[imsU]+(?:-[imsU]+)?|-[imsU]+)?[:)]")
_NAMED: Final = re.compile(r"\?P?<(\w+)>")
_LETTERS: Final = "aftnrvAbBCdDsSwWzQEpPx"
_CLASS_LETTERS: Final = "aftnrvdDsSwWpPx"
_NAMED_CLASS: Final = re.compile(r"\[:\^?(\w+):\]")
_CLASSES: Final = frozenset(
    {
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    }
)  # fmt: skip


class _SyntaxError(Exception):
    pass


def regex_problem(pattern: str) -> str:
    """Go's error for the pattern; empty if it is valid."""
    try:
        _Parser(pattern).parse()
    except _SyntaxError as error:
        return str(error)
    return ""


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open = 0
        self._last = -1
        """Where the last thing that can be repeated starts; none for -1."""
        self._repeated = -1
        """Where the operator just before this place starts."""
        self._names: set[str] = set()

    def parse(self) -> None:
        pattern = self._pattern
        while self._at < len(pattern):
            letter = pattern[self._at]
            match letter:
                case "(":
                    self._group()
                case ")":
                    if not self._open:
                        raise _SyntaxError(f"unexpected ): `{pattern}`")
                    self._open -= 1
                    self._atom(1)
                case "|":
                    self._at += 1
                    self._last = self._repeated = -1
                case "*" | "+" | "?":
                    self._operator(1)
                case "{" if (repeat := _REPEAT.match(pattern, self._at)) is not None:
                    self._count(repeat)
                case "[":
                    self._class()
                case "\\":
                    self._escape(_LETTERS)
                case _:
                    self._atom(1)
        if self._open:
            raise _SyntaxError(f"missing closing ): `{pattern}`")

    def _atom(self, length: int) -> None:
        self._last = self._at
        self._repeated = -1
        self._at += length

    def _group(self) -> None:
        pattern, at = self._pattern, self._at
        self._open += 1
        self._last = self._repeated = -1
        if not pattern.startswith("(?", at):
            self._at += 1
            return
        name = _NAMED.match(pattern, at + 1)
        if name is not None:
            if name[1] in self._names:
                raise _SyntaxError(f"duplicate capture group name: `{name[1]}`")
            self._names.add(name[1])
            self._at = name.end()
            return
        flags = _GROUP_FLAGS.match(pattern, at + 1)
        if flags is None:
            if pattern.startswith(("(?P<", "(?<"), at) and not pattern.startswith(("(?<=", "(?<!"), at):
                end = pattern.find(">", at)
                raise _SyntaxError(
                    f"invalid named capture: `{pattern[at : end + 1] if end >= 0 else pattern[at:]}`"
                )
            end = at + (4 if pattern.startswith("(?<", at) else 3)
            raise _SyntaxError(f"invalid or unsupported Perl syntax: `{pattern[at:end]}`")
        if flags[0].endswith(")"):
            self._open -= 1
        self._at = flags.end()

    def _operator(self, length: int) -> None:
        end = self._at + length
        if self._pattern.startswith("?", end):
            end += 1
        if self._repeated >= 0:
            raise _SyntaxError(f"invalid nested repetition operator: `{self._pattern[self._repeated : end]}`")
        if self._last < 0:
            raise _SyntaxError(f"missing argument to repetition operator: `{self._pattern[self._at : end]}`")
        self._repeated, self._at = self._at, end

    def _count(self, repeat: re.Match[str]) -> None:
        least = int(repeat[1])
        most = int(repeat[3]) if repeat[3] else least
        if max(least, most) > _MOST_REPEATS or most < least:
            raise _SyntaxError(f"invalid repeat count: `{repeat[0]}`")
        self._operator(len(repeat[0]))

    def _escape(self, letters: str) -> None:
        pattern, at = self._pattern, self._at
        if at + 1 >= len(pattern):
            raise _SyntaxError("trailing backslash at end of expression: ``")
        letter = pattern[at + 1]
        if letter.isascii() and letter.isalnum() and letter not in letters and not letter.isdigit():
            raise _SyntaxError(f"invalid escape sequence: `{pattern[at : at + 2]}`")
        if letter in "123456789":
            octal = letter in "1234567" and pattern[at + 2 : at + 3] in tuple("01234567")
            if not octal:
                raise _SyntaxError(f"invalid escape sequence: `{pattern[at : at + 2]}`")
        if letter == "Q":
            end = pattern.find("\\E", at)
            self._atom((len(pattern) if end < 0 else end + 2) - at)
            return
        if letter in "pP" and pattern.startswith("{", at + 2):
            end = pattern.find("}", at)
            if end < 0:
                raise _SyntaxError(f"invalid character class range: `{pattern[at:]}`")
            self._atom(end + 1 - at)
            return
        self._atom(2)

    def _class(self) -> None:
        pattern, start = self._pattern, self._at
        self._at += 2 if pattern.startswith("[^", start) else 1
        first = True
        while first or not pattern.startswith("]", self._at):
            first = False
            if self._at >= len(pattern):
                raise _SyntaxError(f"missing closing ]: `{pattern[start:]}`")
            posix = _NAMED_CLASS.match(pattern, self._at)
            if posix is not None:
                if posix[1] not in _CLASSES:
                    raise _SyntaxError(f"invalid character class range: `{posix[0]}`")
                self._at = posix.end()
                continue
            begin = self._at
            low = self._member()
            if pattern.startswith("-", self._at) and not pattern.startswith("-]", self._at):
                self._at += 1
                if self._at >= len(pattern):
                    raise _SyntaxError(f"missing closing ]: `{pattern[start:]}`")
                high = self._member()
                if low and high and high < low:
                    raise _SyntaxError(f"invalid character class range: `{pattern[begin : self._at]}`")
        self._at += 1
        self._last, self._repeated = start, -1

    def _member(self) -> str:
        """One letter of a class; empty for an escape."""
        if not self._pattern.startswith("\\", self._at):
            self._at += 1
            return self._pattern[self._at - 1]
        at = self._at
        self._escape(_CLASS_LETTERS)
        plain = self._pattern[at + 1 : self._at]
        return plain if len(plain) == 1 and not plain.isalnum() else ""

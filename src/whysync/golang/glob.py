"""Globs in the four dialects that Argo CD uses, matched in time linear in the text.

- gobwas/glob 0.2.3 (`glob_match`), used nearly everywhere: `*` and `?` stop at the separators (by default
  there are none), `**` never does, `[abc]`, `[!abc]`, `[a-z]` (a list or one range, not both) and `{a,b}`.
- Go's `filepath.Match` (`path_match`), used for the kind lists of projects: `/` separates, `[^a-z0-9]` works,
  braces are plain text.
- Git's pathspecs (`pathspec_match`), used by the files of git generators.
- doublestar (`name_matcher`), used for one name in the path of a values file: as `filepath.Match`, with
  `[!a-z]` and `{a,b}`. `**` stands for folders; the caller walks them.

Patterns come from users: they run on a small automaton of our own, because regular expressions can be made to
take forever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

_SYNTAX_ERROR: Final = "syntax error in pattern"
_Accepts: TypeAlias = Callable[[str], bool]
# A step of the automaton: a test of a character, or a jump that consumes none.
_Step: TypeAlias = "_Accepts | _Jump"


class _Jump:
    """A jump to any of these steps; the branches of a `{` are added while the pattern is compiled."""

    __slots__ = ("to",)

    def __init__(self, *to: int) -> None:
        self.to = list(to)


class BadPattern(ValueError):
    """The pattern cannot be compiled; the message is that of the Go library."""


def glob_match(pattern: str, text: str, separators: str = "") -> bool:
    """Mirrors Argo CD's `glob.Match`: a pattern that does not compile matches nothing."""
    try:
        return glob_match_or_raise(pattern, text, separators)
    except BadPattern:
        return False


def glob_match_or_raise(pattern: str, text: str, separators: str = "") -> bool:
    if pattern == text and not any(special in pattern for special in "*?[{\\"):
        return True
    if pattern == "*" and not separators:
        return True
    return _compiled(pattern, _gobwas(separators)).accepts(text)


def path_match(pattern: str, text: str) -> bool:
    """Mirrors Go's `filepath.Match` on Unix, where its callers take an error for no match."""
    try:
        return _compiled(pattern, _PATH).accepts(text)
    except BadPattern:
        return False


def pathspec_match(pattern: str, path: str) -> bool:
    """Mirrors `git ls-files -- PATTERN`: `*` also matches `/`, and a folder matches what is below it."""
    pattern = pattern.removeprefix("./")
    if pattern in ("", ".") or path == pattern or path.startswith(f"{pattern.rstrip('/')}/"):
        return True
    try:
        return _compiled(pattern, _PATHSPEC).accepts(path)
    except BadPattern:
        return False


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Mirrors doublestar on one name of a path. Raises `BadPattern`."""
    return _compiled(pattern, _DOUBLESTAR).accepts


@lru_cache(maxsize=16)
def _gobwas(separators: str) -> _Dialect:
    return _Dialect(separators=separators, read_class=_glob_class, braces=True, strict=False)


class _Automaton:
    """A nondeterministic automaton: all states it can be in are followed at once."""

    __slots__ = ("_start", "_steps")

    def __init__(self, steps: list[_Step]) -> None:
        self._steps = steps
        self._start = self._reach([0])

    def accepts(self, text: str) -> bool:
        states = self._start
        for char in text:
            if not states:
                return False
            next_states: list[int] = []
            for state in states:
                step = self._steps[state] if state < len(self._steps) else None
                if step is not None and not isinstance(step, _Jump) and step(char):
                    next_states.append(state + 1)
            states = self._reach(next_states)
        return len(self._steps) in states

    def _reach(self, states: list[int]) -> frozenset[int]:
        reached: set[int] = set()
        pending = states
        while pending:
            state = pending.pop()
            if state in reached:
                continue
            reached.add(state)
            if state < len(self._steps):
                step = self._steps[state]
                if isinstance(step, _Jump):
                    pending.extend(step.to)
        return frozenset(reached)


def _is(char: str) -> _Accepts:
    return lambda candidate: candidate == char


def _among(chars: str, *, negated: bool) -> _Accepts:
    return lambda candidate: (candidate in chars) is not negated


def _between(ranges: tuple[tuple[str, str], ...], *, negated: bool) -> _Accepts:
    return lambda candidate: any(low <= candidate <= high for low, high in ranges) is not negated


def _anything(_: str) -> bool:
    return True


def _star(steps: list[_Step], accepts: _Accepts) -> None:
    """Any number of accepted characters: go past, or take one and come back."""
    at = len(steps)
    steps += [_Jump(at + 1, at + 3), accepts, _Jump(at)]


class _Alternatives:
    """An open `{`: where its branches start, and the ends of branches that must jump past the `}`."""

    __slots__ = ("branches", "ends")

    def __init__(self, branches: _Jump) -> None:
        self.branches = branches
        self.ends: list[_Jump] = []


class _Dialect(msgspec.Struct, frozen=True, kw_only=True):
    separators: str
    read_class: Callable[[str, int], tuple[_Accepts, int]]
    braces: bool
    strict: bool
    """An open brace or a backslash at the end is an error."""


@lru_cache(maxsize=4096)
def _compiled(pattern: str, dialect: _Dialect) -> _Automaton:
    steps: list[_Step] = []
    open_braces: list[_Alternatives] = []
    not_separator = _among(dialect.separators, negated=True) if dialect.separators else _anything
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            crosses = not dialect.strict and pattern.startswith("*", at)
            at += crosses
            _star(steps, _anything if crosses else not_separator)
        elif char == "?":
            steps.append(not_separator)
        elif char == "[":
            accepts, at = dialect.read_class(pattern, at)
            steps.append(accepts)
        elif char == "{" and dialect.braces:
            branches = _Jump(len(steps) + 1)
            steps.append(branches)
            open_braces.append(_Alternatives(branches))
        elif char == "," and open_braces:
            _end_branch(steps, open_braces[-1])
            open_braces[-1].branches.to.append(len(steps))
        elif char == "}" and open_braces:
            _close(steps, open_braces.pop())
        elif char == "\\":
            if at < len(pattern):
                steps.append(_is(pattern[at]))
            elif dialect.strict:
                raise BadPattern(_SYNTAX_ERROR)
            at += 1
        else:
            steps.append(_is(char))
    if open_braces and dialect.strict:
        raise BadPattern(_SYNTAX_ERROR)
    while open_braces:  # gobwas closes them silently at the end
        _close(steps, open_braces.pop())
    return _Automaton(steps)


def _end_branch(steps: list[_Step], alternatives: _Alternatives) -> None:
    jump = _Jump()
    alternatives.ends.append(jump)
    steps.append(jump)


def _close(steps: list[_Step], alternatives: _Alternatives) -> None:
    for jump in alternatives.ends:
        jump.to.append(len(steps))


def _glob_class(pattern: str, at: int) -> tuple[_Accepts, int]:
    """`[abc]`, `[!abc]` or `[a-z]`; separators may match, and no two ranges fit in one class."""
    negated = pattern.startswith("!", at)
    at += negated
    if at >= len(pattern):
        raise BadPattern("unexpected end of input")
    if pattern.startswith("-", at + 1):
        low, high = pattern[at], pattern[at + 2 : at + 3]
        if not high or at + 3 >= len(pattern):
            raise BadPattern("unexpected end of input")
        if pattern[at + 3] != "]":
            raise BadPattern("expected close range character")
        if high < low:
            raise BadPattern(f"hi character '{high}' should be greater than lo '{low}'")
        return _between(((low, high),), negated=negated), at + 4
    chars: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        at += pattern[at] == "\\"
        chars.append(pattern[at : at + 1])
        at += 1
    if at >= len(pattern):
        raise BadPattern("unexpected end of input")
    if not chars:
        raise BadPattern("could not parse range")
    return _among("".join(chars), negated=negated), at + 1


def _path_class(pattern: str, at: int) -> tuple[_Accepts, int]:
    return _ranges(pattern, at + pattern.startswith("^", at), negated=pattern.startswith("^", at))


def _doublestar_class(pattern: str, at: int) -> tuple[_Accepts, int]:
    negated = pattern.startswith(("!", "^"), at)
    return _ranges(pattern, at + negated, negated=negated)


def _ranges(pattern: str, at: int, *, negated: bool) -> tuple[_Accepts, int]:
    ranges: list[tuple[str, str]] = []
    while not (ranges and pattern.startswith("]", at)):
        low, at = _range_end(pattern, at)
        high = low
        if pattern.startswith("-", at):
            high, at = _range_end(pattern, at + 1)
        ranges.append((low, high))
    return _between(tuple(ranges), negated=negated), at + 1


def _range_end(pattern: str, at: int) -> tuple[str, int]:
    """One character of a class; something must follow it, at least the closing bracket."""
    if pattern[at : at + 1] in ("", "-", "]"):
        raise BadPattern(_SYNTAX_ERROR)
    at += pattern[at] == "\\"
    if at + 1 >= len(pattern):
        raise BadPattern(_SYNTAX_ERROR)
    return pattern[at], at + 1


_PATH: Final = _Dialect(separators="/", read_class=_path_class, braces=False, strict=True)
_DOUBLESTAR: Final = _Dialect(separators="/", read_class=_doublestar_class, braces=True, strict=True)
_PATHSPEC: Final = _Dialect(separators="", read_class=_doublestar_class, braces=False, strict=True)

"""The two dialects of patterns that sources use, matched in time linear in the text.

`include` and `exclude` of a directory are gobwas/glob without separators: `*` also crosses folders, braces
hold alternatives, a pattern that cannot be compiled matches nothing. Values files are doublestar: `*` stays
within one name, `**` crosses folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

_Accepts: TypeAlias = Callable[[str], bool]


class _Jump(list[int]):
    """The places at which a pattern may go on without a character."""


# One step: take a character, or go on at any of these places without one.
_Step: TypeAlias = "_Accepts | _Jump"
_MOST_MATCHES: Final = 10_000


class BadPattern(ValueError):
    pass


def file_matches(pattern: str, path: str) -> bool:
    """Mirrors `glob.Match` of Argo CD 3.6 as directories use it."""
    try:
        return _run(_compiled(pattern, folders=False), path)
    except BadPattern:
        return False


def is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def expanded(pattern: str, root: Path) -> list[str]:
    """The files and folders that a full path with patterns names, sorted as doublestar gives them.

    Only below `root`: nothing else is looked at. Raises `BadPattern`.
    """
    prefix = f"{root}/"
    if not pattern.startswith(prefix):
        return []
    parts = pattern.removeprefix(prefix).split("/")
    return sorted(str(path) for path in _walk(root, parts, 0))


def _walk(folder: Path, parts: list[str], seen: int) -> Iterator[Path]:
    if seen > 200:
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        if not rest:
            yield folder
        else:
            yield from _walk(folder, rest, seen + 1)
        for entry in _entries(folder):
            if entry.is_dir() and not entry.is_symlink():
                yield from _walk(Path(entry.path), parts, seen + 1)
            elif not rest:
                yield Path(entry.path)
        return
    if not is_pattern(part) and "{" not in part:
        found = folder / part
        if not rest:
            if os.path.lexists(found):
                yield found
        elif found.is_dir():
            yield from _walk(found, rest, seen + 1)
        return
    steps = _compiled(part, folders=True)
    for entry in _entries(folder):
        if _run(steps, entry.name):
            if not rest:
                yield Path(entry.path)
            elif entry.is_dir():
                yield from _walk(Path(entry.path), rest, seen + 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)[:_MOST_MATCHES]
    except OSError:
        return []


def _run(steps: list[_Step], text: str) -> bool:
    here = _reach(steps, [0])
    for char in text:
        if not here:
            return False
        onward: list[int] = []
        for at in here:
            step = steps[at] if at < len(steps) else None
            if step is not None and not isinstance(step, _Jump) and step(char):
                onward.append(at + 1)
        here = _reach(steps, onward)
    return len(steps) in here


def _reach(steps: list[_Step], places: list[int]) -> set[int]:
    seen: set[int] = set()
    while places:
        at = places.pop()
        if at in seen:
            continue
        seen.add(at)
        step = steps[at] if at < len(steps) else None
        if isinstance(step, _Jump):
            places.extend(step)
    return seen


@lru_cache(maxsize=256)
def _compiled(pattern: str, *, folders: bool) -> list[_Step]:
    steps: list[_Step] = []
    open_braces: list[tuple[_Jump, list[_Jump]]] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            while pattern.startswith("*", at):
                at += 1
            back = len(steps)
            steps += [_Jump((back + 1, back + 3)), _any_but_slash if folders else _any, _Jump((back,))]
        elif char == "?":
            steps.append(_any_but_slash if folders else _any)
        elif char == "[":
            accepts, at = _class(pattern, at, folders=folders)
            steps.append(accepts)
        elif char == "{":
            branches = _Jump((len(steps) + 1,))
            steps.append(branches)
            open_braces.append((branches, []))
        elif char == "," and open_braces:
            end = _Jump()
            steps.append(end)
            open_braces[-1][1].append(end)
            open_braces[-1][0].append(len(steps))
        elif char == "}" and open_braces:
            for end in open_braces.pop()[1]:
                end.append(len(steps))
        elif char == "\\":
            steps.append(_is(pattern[at : at + 1]))
            at += 1
        else:
            steps.append(_is(char))
    if open_braces and folders:
        raise BadPattern("syntax error in pattern")
    for _, ends in open_braces:  # gobwas closes them silently at the end
        for end in ends:
            end.append(len(steps))
    return steps


def _any(_: str) -> bool:
    return True


def _any_but_slash(char: str) -> bool:
    return char != "/"


def _is(wanted: str) -> _Accepts:
    return lambda char: char == wanted


def _class(pattern: str, at: int, *, folders: bool) -> tuple[_Accepts, int]:
    """`[abc]`, `[a-z]`, negated by `!` (or `^`, for values files); gobwas takes a list or one range."""
    negated = pattern[at : at + 1] in (("!", "^") if folders else ("!",))
    at += negated
    ranges: list[tuple[str, str]] = []
    start = at
    while at < len(pattern) and (pattern[at] != "]" or at == start):
        at += pattern[at] == "\\"
        low = high = pattern[at : at + 1]
        at += 1
        if pattern.startswith("-", at) and pattern[at + 1 : at + 2] not in ("", "]"):
            high = pattern[at + 1]
            at += 2
            if not folders and not (at - start == 3 and pattern.startswith("]", at)):
                raise BadPattern("expected close range character")
        ranges.append((low, high))
    if at >= len(pattern):
        raise BadPattern("syntax error in pattern")
    return lambda char: any(low <= char <= high for low, high in ranges) is not negated, at + 1

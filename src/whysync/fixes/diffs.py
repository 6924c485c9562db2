"""Unified diffs that `git apply` and `patch` accept, for any file names and line endings."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_SPECIAL = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
USUAL_CONTEXT = 3


def unified(path: str, before: str | None, after: str | None, *, context: int = USUAL_CONTEXT) -> str:
    """Unified diff between two texts of a file; `None` means that the file does not exist.

    Equal texts give an empty diff.
    """
    if before == after:
        return ""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    source = "/dev/null" if before is None else old + _end(path)
    goal = "/dev/null" if after is None else new + _end(path)
    head = [f"--- {source}\n", f"+++ {goal}\n"]
    return "".join([*head, *_hunks(before or "", after or "", context)])


def hunk_lines(before: str, after: str, *, context: int) -> set[int]:
    """Line numbers of `before` (from 0) that a diff with this much context shows."""
    shown: set[int] = set()
    matcher = difflib.SequenceMatcher(None, lines(before), lines(after), autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        shown.update(range(group[0][1], group[-1][2]))
    return shown


def largest_context(before: str, after: str, hidden: Collection[int]) -> int | None:
    """The largest context that shows none of the `hidden` lines; `None` if even one line of context would.

    `git apply` does not accept a diff without context.
    """
    for context in range(USUAL_CONTEXT, 0, -1):
        if hunk_lines(before, after, context=context).isdisjoint(hidden):
            return context
    return None


def lines(text: str) -> list[str]:
    """Split at line feeds only, as git does; Python's `splitlines` accepts more line endings."""
    return [line + "\n" for line in text[:-1].split("\n")] if text.endswith("\n") else _unfinished(text)


def _unfinished(text: str) -> list[str]:
    if not text:
        return []
    *complete, last = text.split("\n")
    return [*(line + "\n" for line in complete), last]


def _hunks(before: str, after: str, context: int) -> list[str]:
    hunk_lines = list(difflib.unified_diff(lines(before), lines(after), n=context))[2:]
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in hunk_lines]


def _quoted(name: str) -> str:
    """Quote a file name as git does if it contains special characters."""
    if name.isascii() and name.isprintable() and not set(name) & _SPECIAL.keys():
        return name
    quoted = "".join(
        _SPECIAL.get(char) or (char if char.isascii() and char.isprintable() else _octal(char))
        for char in name
    )
    return f'"{quoted}"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _end(path: str) -> str:
    """A tab ends a file name that contains blanks."""
    return "\t" if " " in path and _quoted(path) == path else ""

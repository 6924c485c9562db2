"""`-o FORM[=FILE]`, as often as wanted: which form goes to the screen, which into a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from whysync.errors import UsageError
from whysync.files import write_output
from whysync.reports.output import Safe, out
from whysync.reports.screen import Screen

_FOR_PEOPLE = ("text", "wide")


class Target(NamedTuple):
    form: str
    file: str


def targets(written: Sequence[str], forms: Sequence[str], verb: str) -> list[Target]:
    """What to write where; the screen gets text unless something else is asked for."""
    found: list[Target] = []
    for one in written or ["text"]:
        form, _, file = one.partition("=")
        if form not in forms:
            raise UsageError(
                what=f"{form!r} is no form of output",
                why=f"it must be one of {', '.join(forms)}, with =FILE behind it to write a file",
                next=f"whysync {verb} --help shows what it takes",
            )
        found.append(Target(form, file))
    return found


def show(wanted: Sequence[Target], shown: Callable[[str, Screen], Safe], screen: Screen) -> None:
    """A file gets neither colours nor the width of a terminal."""
    for target in wanted:
        text = shown(target.form, screen if not target.file else Screen())
        if target.file:
            write(target.file, text)
            continue
        if target.form not in _FOR_PEOPLE:
            _speak_utf8()
        out().put(text)


def write(path: str, text: str) -> None:
    """Write a report or a baseline to a file that the user named."""
    try:
        write_output(Path(path), text.encode("utf-8", "replace"))
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the path
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError(
            what=f"{path} cannot be written",
            why=why or str(problem),
            next="name another file; a link is not written through, so name the file itself",
        ) from problem


def _speak_utf8() -> None:
    """Data is UTF-8 wherever it goes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")

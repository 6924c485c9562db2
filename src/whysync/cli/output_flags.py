"""Flags for the output and the exit code: `-o`, `--fail-on`, `--watch`; `-o FORMAT[=FILE]` and its files."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from whysync.cli.flag_types import Append, seconds
from whysync.errors import UsageError
from whysync.files import write_output
from whysync.reports.output import Safe, out
from whysync.reports.terminal import Terminal

OUTPUTS = ("text", "wide", "json", "yaml", "markdown", "name")
_SEVERITIES = ("info", "warning", "critical")
_FOR_PEOPLE = ("text", "wide")


def add_output_flag(
    verb: argparse.ArgumentParser, choices: Sequence[str] = OUTPUTS, *, help: str = "output format"
) -> None:
    """`-o`; the first of the choices is the default."""
    verb.add_argument("-o", "--output", choices=choices, default=choices[0], help=help)


def add_output_files_flag(verb: argparse.ArgumentParser, formats: Sequence[str], *, example: str) -> None:
    """`-o FORMAT[=FILE]`, repeatable."""
    verb.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        action=Append,
        default=[],
        help=f"{', '.join(formats)}; repeatable: -o text -o {example}",
    )


def add_fail_on_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--fail-on",
        choices=_SEVERITIES,
        default="warning",
        help="exit 1 on findings of this severity or higher (default: warning)",
    )
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )


def add_proof_flags(verb: argparse.ArgumentParser, *, show: bool = False) -> None:
    """`show`: also a flag for what happened in the simulation."""
    verb.add_argument(
        "--no-proof",
        action="store_true",
        help="do not simulate fixes or syncs",
    )
    if show:
        verb.add_argument(
            "--show-proof",
            action="store_true",
            help="show the simulation without and with each fix",
        )


def add_watch_flag(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-w",
        "--watch",
        metavar="TIME",
        nargs="?",
        type=seconds,
        const=10.0,
        default=0.0,
        help="repeat at this interval until Ctrl-C (default 10s)",
    )


class Target(NamedTuple):
    format: str
    file: str


def targets(written: Sequence[str], formats: Sequence[str], verb: str) -> list[Target]:
    """What to write where; the screen gets text unless something else is asked for."""
    found: list[Target] = []
    for one in written or ["text"]:
        format, _, file = one.partition("=")
        if format not in formats:
            raise UsageError(
                what=f"{format!r} is no form of output",
                why=f"it must be one of {', '.join(formats)}, with =FILE behind it to write a file",
                next=f"whysync {verb} --help shows what it takes",
            )
        found.append(Target(format, file))
    return found


def show(wanted: Sequence[Target], shown: Callable[[str, Terminal], Safe], terminal: Terminal) -> None:
    """A file gets neither colours nor the width of a terminal."""
    for target in wanted:
        text = shown(target.format, terminal if not target.file else Terminal())
        if target.file:
            write(target.file, text)
            continue
        if target.format not in _FOR_PEOPLE:
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

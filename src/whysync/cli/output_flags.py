"""Flags for the output and the exit code: `-o FORMAT[=FILE]`, `--fail-on`, `--watch`."""

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
FLEET_OUTPUTS = (*OUTPUTS, "short", "html")
_SEVERITIES = ("info", "warning", "critical")
_FOR_PEOPLE = ("text", "wide")


def add_output_flag(
    verb: argparse.ArgumentParser, choices: Sequence[str] = OUTPUTS, *, help: str = "output format"
) -> None:
    """Add `-o`; the first of the choices is the default."""
    verb.add_argument(
        "-o",
        "--output",
        metavar="FORMAT",
        choices=choices,
        default=choices[0],
        help=f"{help}: {', '.join(choices)}",
    )


def add_output_files_flag(verb: argparse.ArgumentParser, formats: Sequence[str], *, example: str) -> None:
    """Add `-o FORMAT[=FILE]`, which can be repeated."""
    action = verb.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        action=Append,
        default=[],
        help=f"output format: {', '.join(formats)} (repeatable: -o text -o {example})",
    )
    assert isinstance(action, Append)
    action.known = tuple(formats)


def add_fail_on_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        choices=_SEVERITIES,
        default="warning",
        help="exit 1 on findings of this severity or higher: info, warning (default), critical",
    )
    verb.add_argument("--exit-zero", action="store_true", help="exit 0 on findings (errors still exit 2)")


def add_proof_flags(verb: argparse.ArgumentParser, *, show: bool = False) -> None:
    """Add `--no-proof`, and `--show-proof` if `show`."""
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


def targets(values: Sequence[str], formats: Sequence[str], verb: str) -> list[Target]:
    """The parsed values of `-o FORMAT[=FILE]`; text on standard output by default."""
    outputs: list[Target] = []
    for value in values or ["text"]:
        format, _, file = value.partition("=")
        if format not in formats:
            raise UsageError(
                what=f"invalid output format {format!r}",
                why=f"it must be one of {', '.join(formats)}, followed by =FILE to write a file",
                next=f"see whysync {verb} --help",
            )
        outputs.append(Target(format, file))
    return outputs


def show(outputs: Sequence[Target], render: Callable[[str, Terminal], Safe], terminal: Terminal) -> None:
    """Write each output; files have no colors and a fixed width."""
    for target in outputs:
        text = render(target.format, terminal if not target.file else Terminal())
        if target.file:
            write(target.file, text)
            continue
        if target.format not in _FOR_PEOPLE:
            _use_utf8()
        out().put(text)


def write(path: str, text: str) -> None:
    """Write a report or a baseline to the file given on the command line."""
    try:
        write_output(Path(path), text.encode("utf-8", "replace"))
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the path
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError(
            what=f"{path} cannot be written",
            why=why or str(problem),
            next="choose another file; symbolic links are not followed",
        ) from problem


def _use_utf8() -> None:
    """Machine-readable output is UTF-8 in any locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")

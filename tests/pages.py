"""The pages of README and docs: their commands, what those print, and where their links lead."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.situations import ROOT

PAGES = tuple(
    sorted(
        path
        for path in (
            *ROOT.glob("*.md"),
            *ROOT.glob("docs/*.md"),
            *ROOT.glob("docs/decisions/*.md"),
            *ROOT.glob("examples/*.md"),
            *ROOT.glob("changes/*.md"),
        )
        if path.name not in ("commands.md", "differences.md")  # generated, and checked by make check
    )
)
_SHOWN = re.compile(r"(?<=```console\n)\$ whysync (?P<command>.*)\n(?P<output>(?:(?!```).*\n)*)")
_LINK = re.compile(r"\]\((?!https?://|#)(?P<target>[^)#\s]+)")
_PATH = re.compile(r"`(?P<path>[a-z_]+(?:/[\w.-]+)+/?|[a-z_]+/|[a-z_]+\.py)`")
_DOTTED = re.compile(r"`(?P<name>[a-z_]+(?:\.[A-Za-z_]+)+)`")
_MAKE = re.compile(r"(?:^|`|\$ )make ([a-z-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shown:
    """A command on a page with the output that stands below it."""

    page: Path
    command: str
    output: str

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)


def shown_on(page: Path) -> list[Shown]:
    return [Shown(page, match["command"], match["output"]) for match in _SHOWN.finditer(page.read_text())]


def rewritten(page: Path, command: str, output: str) -> str:
    """The text of the page with this output below the command."""

    def put(found: re.Match[str]) -> str:
        return f"$ whysync {command}\n{output}" if found["command"] == command else found[0]

    return _SHOWN.sub(put, page.read_text())


def links_of(page: Path) -> list[str]:
    return [match["target"] for match in _LINK.finditer(page.read_text())]


def targets_named_on(page: Path) -> set[str]:
    return set(_MAKE.findall(page.read_text()))


def paths_named_on(page: Path) -> set[str]:
    """Files and folders of this repository in backticks: `facts/bundle`, `app.py`, `tests/rules`."""
    return {match["path"] for match in _PATH.finditer(page.read_text())}


def code_named_on(page: Path) -> set[str]:
    """Modules, functions and classes in backticks by their dotted names below whysync: `app.cases`."""
    dotted = {match["name"] for match in _DOTTED.finditer(page.read_text())} - paths_named_on(page)
    return {name for name in dotted if find_spec(f"whysync.{name.partition('.')[0]}") is not None}

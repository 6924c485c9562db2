"""Write the subcommands and flags of a command-line program, read from its `--help`, as a table for tests.

    python -m tools.command_tables argocd PATH/TO/argocd 3.2.11
    python -m tools.command_tables kubectl PATH/TO/kubectl 1.37.1
    python -m tools.command_tables helm PATH/TO/helm 4.3.1

`tests/fixes/test_commands.py` checks every command that whysync prints against these tables, so that
`make test` needs none of the programs. They use cobra: each command lists its subcommands and flags.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, TypedDict

TABLES = Path(__file__).parents[1] / "tests" / "fixes" / "command_tables"
_SKIPPED: Final = frozenset({"completion", "help", "options", "plugin"})
_OPTIONAL_VALUE: Final = frozenset({"--dry-run", "--cascade", "--validate"})
"""Flags of kubectl that may be given without a value: a value needs `=`. The help does not show it."""
_COBRA_FLAG = re.compile(
    r"^ {2,6}(?:(?P<short>-\w), )?(?P<long>--[\w-]+)(?P<optional>\[=\S*\]|)"
    r"(?: (?P<type>[A-Za-z0-9][\w=.-]*))?(?: {2,}|$)"
)
_KUBECTL_FLAG = re.compile(r"^    (?:(?P<short>-\w), )?(?P<long>--[\w-]+)=(?P<default>.*):$")
_SUBCOMMAND = re.compile(r"^  ([a-z][\w-]*) {1,}\S")


class Table(TypedDict):
    """Flags per command, separated by spaces: `=` takes a value, `?` takes one as `--flag=value` only."""

    version: str
    everywhere: str
    commands: dict[str, str]


def table_of(program: str, binary: str, version: str) -> Table:
    """The table of all commands, in the order of their names."""
    everywhere = _everywhere(program, binary)
    commands: dict[str, str] = {}
    waiting = [(name,) for name in _subcommands(_help(binary)) if name not in _SKIPPED]
    while waiting:
        path = waiting.pop()
        text = _help(binary, *path)
        names = _subcommands(text)
        flags = " ".join(sorted(_flags(program, _own(text)) - everywhere))
        commands |= {" ".join((*path[:-1], name)): flags for name in (*path[-1:], *_aliases(text))}
        waiting += [(*path, name) for name in names if name not in _SKIPPED]
    return {
        "version": version,
        "everywhere": " ".join(sorted(everywhere)),
        "commands": dict(sorted(commands.items())),
    }


def written(table: Table) -> str:
    return f"{json.dumps(table, indent=1)}\n"


def _help(binary: str, *path: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ARGOCD_BINARY_NAME"}
    command = [binary, *path, "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def _everywhere(program: str, binary: str) -> set[str]:
    if program == "kubectl":
        options = subprocess.run([binary, "options"], capture_output=True, text=True, check=True).stdout
        return _flags(program, options)
    return _flags(program, _help(binary))


def _own(text: str) -> str:
    return text.partition("\nGlobal Flags:")[0]


def _subcommands(text: str) -> list[str]:
    names: list[str] = []
    in_section = False
    for line in text.splitlines():
        if re.match(r"^\S.*[Cc]ommands.*:$", line):
            in_section = True
        elif not line.strip() or not line.startswith("  "):
            in_section = False
        elif in_section and (match := _SUBCOMMAND.match(line)):
            names.append(match[1])
    return names


def _aliases(text: str) -> list[str]:
    match = re.search(r"^Aliases:\n\s*(.+)$", text, re.MULTILINE)
    return [name.strip() for name in match[1].split(",")] if match else []


def _flags(program: str, text: str) -> set[str]:
    flags: set[str] = {"-h", "--help"}
    for line in text.splitlines():
        match = (_KUBECTL_FLAG if program == "kubectl" else _COBRA_FLAG).match(line)
        if match is None:
            continue
        mark = _mark(program, match)
        flags |= {f"{name}{mark}" for name in (match["short"], match["long"]) if name}
    return flags


def _mark(program: str, match: re.Match[str]) -> str:
    if program == "kubectl":
        if match["long"] in _OPTIONAL_VALUE:
            return "?"
        return "" if match["default"] in ("true", "false") else "="
    if match["optional"]:
        return "?"
    return "=" if match["type"] else ""


def main(program: str, binary: str, version: str) -> None:
    TABLES.mkdir(exist_ok=True)
    (TABLES / f"{program}.json").write_text(written(table_of(program, binary, version)))


if __name__ == "__main__":
    main(*sys.argv[1:])

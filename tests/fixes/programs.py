"""Does a program accept this command line? By tables of its subcommands and flags, without the program."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

from whysync.cli.main import with_verb
from whysync.cli.parser import parser
from whysync.errors import WhysyncError

TABLES = Path(__file__).parent / "command_tables"
_PLUGINS = {("argo", "retry"), ("kubectl", "argo"), ("kubectl", "cnpg")}
# Programs of the system, and plugins with a parser of their own: only their names are known here.
OTHERS = frozenset({
    "awk", "base64", "cd", "curl", "diff", "dig", "docker", "find", "grep", "jq", "jsonnet", "kustomize",
    "openssl", "oras", "printf", "sort", "ssh-keygen", "ssh-keyscan", "uniq", "vault", "xargs",
})  # fmt: skip
GIT = {
    "add": "", "apply": "", "blame": "-L", "clone": "--depth", "commit": "-a -m -S --amend --no-edit",
    "diff": "--stat --name-status --diff-filter",
    "grep": "-n -i -w -e -l -L -E -F", "log": "-p -S -G --oneline -n", "ls-remote": "--heads --tags --symref",
    "mv": "", "push": "--force-with-lease", "revert": "--no-edit", "rev-parse": "", "rm": "-r --cached",
    "show": "--stat",
    "fetch": "--tags", "ls-files": "", "ls-tree": "-r -d --name-only", "submodule": "",
    "checkout": "", "switch": "-c",
    "status": "", "verify-commit": "",
}  # fmt: skip


class Table(TypedDict):
    version: str
    everywhere: str
    commands: dict[str, str]


@cache
def table_of(program: str) -> Table:
    return cast("Table", json.loads((TABLES / f"{program}.json").read_text()))


def refusal(command: list[str]) -> str:
    """Why the program would refuse the command; empty if it would not."""
    program, *arguments = command
    if program in OTHERS or tuple(command[:2]) in _PLUGINS:
        return ""
    if program == "git":
        return _refused_by_git(arguments)
    if program == "whysync":
        return _refused_by_whysync(arguments)
    if program not in ("argocd", "helm", "kubectl"):
        return f"{program} is no program that users of Argo CD have"
    return _refused_by_cobra(table_of(program), arguments)


def _refused_by_whysync(arguments: list[str]) -> str:
    words = with_verb(arguments)
    try:
        parser({}, verb=words[0] if words else "").parse_args(words)
    except (SystemExit, WhysyncError) as problem:
        return f"whysync refuses {' '.join(arguments)}: {problem}"
    return ""


def _refused_by_git(arguments: list[str]) -> str:
    while arguments[:1] == ["-C"]:
        arguments = arguments[2:]
    if not arguments or arguments[0] not in GIT:
        return f"git has no command {arguments[:1]}"
    known = GIT[arguments[0]].split()
    for argument in arguments[1:]:
        if argument == "--":
            break
        if argument.startswith("--") and argument.partition("=")[0] not in known:
            return f"git {arguments[0]} has no flag {argument}"
        if argument.startswith("-") and not argument.startswith("--"):
            letters = [f"-{letter}" for letter in argument[1:]]
            if letters[0] not in known:
                return f"git {arguments[0]} has no flag {argument}"
    return ""


def _flags(text: str) -> dict[str, str]:
    """`=` takes a value, `?` takes one with `=` only, `` takes none."""
    return {token.rstrip("=?"): token[len(token.rstrip("=?")) :] for token in text.split()}


def _refused_by_cobra(table: Table, arguments: list[str]) -> str:
    everywhere = _flags(table["everywhere"])
    path: list[str] = []
    flags: list[str] = []
    positional = 0
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--":
            break
        if argument.startswith("-") and argument != "-":
            flags.append(argument)
            command = _flags(table["commands"].get(" ".join(path), ""))
            if _takes_next(argument, everywhere | command | _all_flags_below(table, path)):
                if not waiting:
                    return f"{argument} needs a value"
                waiting.pop(0)
        elif not positional and " ".join([*path, argument]) in table["commands"]:
            path.append(argument)
        elif _is_parent(table, path):
            return f"no such command: {' '.join([*path, argument])}"
        else:
            positional += 1
    name = " ".join(path)
    if name not in table["commands"]:
        return "no command"
    known = everywhere | _flags(table["commands"][name])
    return next(
        (f"{name} has no flag {argument}" for argument in flags if not _is_known(argument, known)), ""
    )


def _is_parent(table: Table, path: list[str]) -> bool:
    prefix = " ".join([*path, ""]) if path else ""
    below = any(name.startswith(prefix) for name in table["commands"])
    return below and " ".join(path) not in ("apply", "top", "cluster-info", "events")


def _all_flags_below(table: Table, path: list[str]) -> dict[str, str]:
    """Flags may precede the subcommand that they belong to."""
    prefix = " ".join([*path, ""]) if path else ""
    flags: dict[str, str] = {}
    for name, text in table["commands"].items():
        if name.startswith(prefix) and not table["commands"].get(" ".join(path)):
            flags |= _flags(text)
    return flags


def _takes_next(flag: str, known: dict[str, str]) -> bool:
    if flag.startswith("--"):
        return "=" not in flag and known.get(flag) == "="
    for index, letter in enumerate(flag[1:], start=1):
        if known.get(f"-{letter}") == "=":
            return index == len(flag) - 1
    return False


def _is_known(flag: str, known: dict[str, str]) -> bool:
    name, equals, _ = flag.partition("=")
    if flag.startswith("--"):
        return name in known
    for letter in name[1:]:
        if f"-{letter}" not in known:
            return False
        if known[f"-{letter}"] == "=":
            return True
    return not equals

"""Lines of commands as a person reads them: what only looks, what has blanks to fill in, what acts."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from whysync.argocd.simulation.commands.command_line import BadCommand, Command, command_of

_LOOKS: Final = frozenset({
    ("kubectl", "get"), ("kubectl", "describe"), ("kubectl", "logs"), ("kubectl", "explain"),
    ("kubectl", "top"), ("kubectl", "api-resources"), ("kubectl", "auth"), ("kubectl", "exec"),
    ("kubectl", "events"), ("kubectl", "version"), ("git", "log"), ("git", "diff"), ("git", "show"),
})  # fmt: skip
_ARGOCD_LOOKS: Final = frozenset({
    ("app", "diff"), ("app", "manifests"), ("app", "resources"), ("app", "list"), ("app", "logs"),
    ("app", "history"), ("proj", "list"), ("proj", "get"), ("cluster", "list"), ("cluster", "get"),
    ("repo", "list"), ("repo", "get"), ("cert", "list"), ("admin", "settings"), ("app", "get"),
})  # fmt: skip
_LOOKS_AT_THE_DEED: Final = ("argocd app diff", "argocd proj windows list")
_ROLLOUT: Final = ["kubectl", "rollout", "status"]
_BLANK: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_SECRET_LITERAL: Final = re.compile(r"--from-literal=[A-Za-z0-9._-]+=VALUE")


class LineKind(Enum):
    LOOKS = auto()
    PLAYED = auto()
    PAUSES = auto()
    """`kubectl rollout status`: until it is rolled out."""
    PERSONS = auto()
    """Only a person can do it; `why` says what stands against playing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    text: str
    sort: LineKind
    command: Command | None = None
    why: str = ""


def leaves_a_deed(commands: tuple[str, ...]) -> bool:
    """Does it say where to look, and leave to a person what to do about what is seen there?"""
    looks = [line.text for line in lines_of(commands) if line.sort is LineKind.LOOKS]
    return any(not look.startswith(_LOOKS_AT_THE_DEED) and "--dry-run" not in look for look in looks)


def only_waits(commands: tuple[str, ...]) -> bool:
    """Is there nothing to be done but `argocd app wait`, and perhaps a look?"""
    acts = [line for line in lines_of(commands) if line.sort is not LineKind.LOOKS]
    return bool(acts) and all(
        act.command is not None and (act.command.tool, act.command.verb) == ("argocd", "wait") for act in acts
    )


def lines_of(commands: tuple[str, ...]) -> list[CommandLine]:
    return [_line(part) for written in commands for part in _parts(written)]


def _parts(written: str) -> list[str]:
    return [part.strip() for part in written.split(" && ")] if not written.startswith("#") else [written]


def _line(written: str) -> CommandLine:
    if written.startswith("#"):
        said = written.lstrip("# ").removesuffix(", then")
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"a step is for a person: {said}")
    try:
        words = shlex.split(written, comments=True)
    except ValueError:
        words = []
    if not words:
        return CommandLine(text=written, sort=LineKind.LOOKS)
    if _is_look(words):
        return CommandLine(text=written, sort=LineKind.LOOKS)
    if [word for number, word in enumerate(words) if not _is_flag(words, number)][:3] == _ROLLOUT:
        return CommandLine(text=written, sort=LineKind.PAUSES)
    blank = next((word for word in words if _is_blank(word)), "")
    if blank:
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"{blank} is for a person to fill in")
    if words[0] == "kubectl" and "edit" in words:
        return CommandLine(text=written, sort=LineKind.PERSONS, why=f"`{' '.join(words)}` is for a person")
    line = shlex.join(words)
    try:
        return CommandLine(text=line, sort=LineKind.PLAYED, command=command_of(line))
    except BadCommand:
        return CommandLine(
            text=written, sort=LineKind.PERSONS, why=f"`{' '.join(words[:4])}` cannot be played on a model"
        )


def _is_look(words: list[str]) -> bool:
    plain = [word for number, word in enumerate(words) if not _is_flag(words, number)]
    if "--dry-run" in words or any(word.startswith("--dry-run=") for word in words):
        return True
    if tuple(plain[:2]) in _LOOKS:
        return True
    if plain[:1] != ["argocd"]:
        return False
    if plain[1:4] == ["proj", "windows", "list"]:
        return True
    refreshes = "--refresh" in words or "--hard-refresh" in words
    return tuple(plain[1:3]) in _ARGOCD_LOOKS and not (refreshes and plain[1:3] == ["app", "get"])


def _is_flag(words: list[str], number: int) -> bool:
    return words[number].startswith("-") or (number > 0 and words[number - 1] in ("-n", "--namespace"))


def _is_blank(word: str) -> bool:
    """`OTHER_PROJECT`, `KEY=VALUE`, `--name=NAME`: in capitals, as no object of a cluster is named."""
    if _SECRET_LITERAL.fullmatch(word):
        return False  # what it holds nobody asks on a model
    value = word.rpartition("=")[2] if word.startswith("--") else word
    return bool(_BLANK.fullmatch(value)) or any(
        _BLANK.fullmatch(part) for part in value.split("=") if "=" in value
    )

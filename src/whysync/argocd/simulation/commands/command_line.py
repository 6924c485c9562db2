"""Parses the `kubectl` and `argocd` command lines that a simulation can run."""

from __future__ import annotations

import shlex
from typing import Final

import msgspec

_KUBECTL: Final = (
    "apply",
    "create",
    "replace",
    "patch",
    "edit",
    "scale",
    "delete",
    "annotate",
    "label",
    "set",
    "rollout",
)
_ARGOCD: Final = ("sync", "get", "terminate-op", "set", "delete", "wait", "confirm-deletion")
_PROJ: Final = (
    "add-source",
    "add-destination",
    "allow-cluster-resource",
    "allow-namespace-resource",
    "windows",
)
_NOUNS: Final = (["argocd", "app"], ["argocd", "proj"], ["argocd", "cluster"])
# Flags without a value; all others take one.
_SWITCHES: Final = frozenset((
    "--server-side", "--force-conflicts", "--overwrite", "--refresh", "--hard-refresh", "--prune", "--force",
    "--replace", "--dry-run", "--apply-out-of-sync-only", "--async", "--auto-prune",
    "--self-heal", "--ignore-not-found", "--operation", "--health", "--sync", "--yes",
))  # fmt: skip
_SHORT: Final = {"-n": "--namespace", "-f": "--filename", "-p": "--patch", "-y": "--yes"}
_KNOWN_FLAGS: Final = frozenset((
    *_SWITCHES, "--namespace", "--filename", "--patch", "--type", "--replicas", "--field-manager",
    "--resource", "--revision", "--subresource", "--retry-limit", "--cascade", "--sync-policy",
    "--sync-option", "--strategy", "--from-literal", "--project", "--path", "--repo", "--dest-namespace",
    "--dest-server", "--dest-name", "--source-position", "--timeout", "--propagation-policy",
))  # fmt: skip


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed command line. `noun` is the word after `argocd`: `app`, `proj` or `cluster`."""

    tool: str
    verb: str
    noun: str = ""
    words: tuple[str, ...] = ()
    flags: dict[str, tuple[str, ...]] = {}

    def flag(self, name: str, default: str = "") -> str:
        return self.flags.get(name, (default,))[-1]

    def has(self, name: str) -> bool:
        return name in self.flags


class BadCommand(ValueError):
    pass


def command_of(line: str) -> Command:
    """Raises `BadCommand` if the line cannot be parsed or run."""
    try:
        words = shlex.split(line, comments=False)
    except ValueError as problem:
        raise BadCommand(f"it cannot be split into words: {problem}") from problem
    if words[:1] != ["kubectl"] and words[:2] not in _NOUNS:
        raise BadCommand("it must begin with kubectl, argocd app, argocd proj or argocd cluster")
    arguments, flags = _split_flags(words)
    match arguments:
        case ["kubectl", verb, *rest] if verb in _KUBECTL:
            return Command(tool="kubectl", verb=verb, words=tuple(rest), flags=flags)
        case ["argocd", "app", verb, app, *rest] if verb in _ARGOCD:
            return Command(tool="argocd", noun="app", verb=verb, words=(app, *rest), flags=flags)
        case ["argocd", "cluster", "set", cluster]:
            return Command(tool="argocd", noun="cluster", verb="set", words=(cluster,), flags=flags)
        case ["argocd", "proj", verb, project, *rest] if verb in _PROJ:
            return Command(tool="argocd", noun="proj", verb=verb, words=(project, *rest), flags=flags)
        case _:
            raise BadCommand(f"{' '.join(arguments[:3])!r} is not supported")


def _split_flags(words: list[str]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    arguments: list[str] = []
    flags: dict[str, tuple[str, ...]] = {}
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-") or word == "-":
            arguments.append(word)
            continue
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name)
        if name not in _KNOWN_FLAGS:
            raise BadCommand(f"the flag {name} is not supported")
        if not equals:
            value = "true" if name in _SWITCHES else next(remaining, "")
            if not value:
                raise BadCommand(f"{name} requires a value")
        flags[name] = (*flags.get(name, ()), value)
    return arguments, flags


def command_problem(line: str) -> str:
    """What is wrong with a command line; empty if it is valid."""
    try:
        command = command_of(line)
    except BadCommand as problem:
        return str(problem)
    if command.tool == "argocd" or command.has("--filename"):
        return ""
    if not command.words:
        return f"kubectl {command.verb} needs an object, such as deployment/web"
    if command.verb == "scale" and not command.flag("--replicas").isdecimal():
        return "--replicas must be a number"
    if command.verb == "patch" and not command.has("--patch"):
        return "kubectl patch needs -p"
    return ""

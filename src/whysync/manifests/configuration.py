"""`.whysync.yaml`, the configuration of `whysync lint`. Unknown settings are errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from whysync.errors import UsageError
from whysync.json_tree import Json
from whysync.kubernetes.api.yaml import Invalid, load
from whysync.kubernetes.schema.releases import BASE, NEWEST, OLDEST, release_of

NAME: Final = ".whysync.yaml"
OFF: Final = "off"
_LEVELS: Final = ("info", "warning", "critical", OFF)


class Outside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Objects that exist outside of the files, such as Secrets that an operator creates; names are globs."""

    kind: str
    name: str = "*"
    namespace: str = "*"


class Override(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other severities for some files: `path` is a glob, `**` matches any number of folders."""

    path: str
    severities: dict[str, str] = {}
    outside: tuple[Outside, ...] = ()


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kubernetes: str = ""
    crds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    severities: dict[str, str] = {}
    outside: tuple[Outside, ...] = ()
    paths: tuple[Override, ...] = ()

    @property
    def release(self) -> int:
        """The Kubernetes release of the kinds and fields; see `kubernetes/schema/releases.py`."""
        return (release_of(self.kubernetes) if self.kubernetes else None) or BASE

    @property
    def release_note(self) -> str:
        """A note about the schemas; empty if they are those of the chosen release."""
        minor = version_pair(self.kubernetes)[1] if self.kubernetes else self.release
        if minor == self.release:
            return ""
        verb = "begin" if minor < self.release else "end"
        return f"the schemas {verb} with Kubernetes 1.{self.release}: fields of that release are used"

    @property
    def release_hint(self) -> str:
        """A hint for the default release: the cluster may be newer."""
        return "" if self.kubernetes else "set the cluster's version with --kubernetes-version"

    def level(self, check: str, path: str) -> str:
        """The configured severity; the last matching override is used. Empty if there is none."""
        level = self.severities.get(check, self.severities.get("*", ""))
        for override in self.paths:
            if matches(override.path, path):
                level = override.severities.get(check, override.severities.get("*", level))
        return level

    def excludes(self, path: str) -> bool:
        return any(matches(pattern, path) for pattern in self.exclude)

    def lives_outside(self, kind: str, name: str, namespace: str) -> bool:
        declared = (*self.outside, *(entry for override in self.paths for entry in override.outside))
        return any(
            entry.kind in ("*", kind)
            and matches(entry.name, name)
            and (entry.namespace == "*" or not namespace or matches(entry.namespace, namespace))
            for entry in declared
        )


class _ConfigurationFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    lint: Configuration = Configuration()


def read_configuration(content: str, path: str, known: Mapping[str, object]) -> Configuration:
    """Raises `UsageError` with the error in the file."""
    try:
        body: Json = load(content) or {}
        file = msgspec.convert(body, _ConfigurationFile)
    except Invalid as problem:
        raise _invalid(path, f"line {problem.line}: {problem.problem}") from problem
    except msgspec.ValidationError as problem:
        raise _invalid(path, str(problem)) from problem
    configuration = file.lint
    check_version(configuration.kubernetes, path)
    for severities in (configuration.severities, *(path.severities for path in configuration.paths)):
        for check, level in severities.items():
            if check != "*" and check not in known:
                raise _invalid(path, f"there is no check {check!r}")
            if level not in _LEVELS:
                raise _invalid(path, f"invalid severity {level!r} of {check}; one of: {', '.join(_LEVELS)}")
    return configuration


def check_version(version: str, location: str) -> None:
    if version and release_of(version) is None:
        raise UsageError(
            what=f"{location}: {version!r} is not a Kubernetes version",
            next=f"use a version such as 1.{BASE}; schemas are available from 1.{OLDEST} to 1.{NEWEST}",
        )


def _invalid(path: str, why: str) -> UsageError:
    return UsageError(what=f"{path} is invalid", why=why, next="docs/linting.md describes the format")


def matches(pattern: str, path: str) -> bool:
    """A glob on paths: `*` stays within a folder, `**` does not; a folder name matches its contents."""
    if path == pattern or path.startswith(f"{pattern.rstrip('/')}/"):
        return True
    return _expression(pattern).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _expression(pattern: str) -> re.Pattern[str]:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        else:
            char = pattern[at]
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
            at += 1
    return re.compile("".join(out), re.DOTALL)


def version_pair(version: str) -> tuple[int, int]:
    """`1.31` or `v1.31.2` as a pair of numbers; anything else is newer than all."""
    level = re.match(r"v?(\d{1,4})\.(\d{1,4})", version)
    return (int(level.group(1)), int(level.group(2))) if level else (9_999, 0)

"""Known differences between the model and a real API server: data, in known.toml, each with its reason."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    id: str
    why: str
    where: tuple[str, ...]
    """Globs over the steps, written `module/case#number`."""
    what: str = ""
    """A regular expression that is found in the difference."""
    always: bool = True
    """Does it occur in every run? If not, it depends on which of two programs is faster."""
    before: str = ""
    """The version from which on it does not occur; empty if it does not depend on a version."""

    def covers(self, at: str, problem: str) -> bool:
        return any(fnmatchcase(at, item) for item in self.where) and re.search(self.what, problem) is not None


@cache
def known_differences() -> tuple[Known, ...]:
    return read_known(FILE)


def read_known(file: Path) -> tuple[Known, ...]:
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Known(
            id=name,
            why=entry["why"],
            where=tuple(entry["where"]),
            what=entry.get("what", ""),
            always=entry.get("always", True),
            before=entry.get("before", ""),
        )
        for name, entry in document.items()
    )


def why(at: str, problem: str) -> Known | None:
    return next((known for known in known_differences() if known.covers(at, problem)), None)


_HEADING = """\
## The model against a real API server

`make test-cluster` sends the same requests to the model of the cluster and to a kube-apiserver 1.36, and
compares the answers. These differ:
"""


_PLANS = """\
## Plans against what then happens

`make test-cluster` plans commits, and then syncs them onto the kube-apiserver. These end otherwise than the
plan says:
"""


def cluster_markdown() -> str:
    """The sections of `docs/differences.md`."""
    plans = read_known(FILE.with_name("planning") / FILE.name)
    return f"{_HEADING}\n{listed(known_differences())}\n{_PLANS}\n{listed(plans)}"


def listed(differences: tuple[Known, ...]) -> str:
    """A Markdown list of differences with their reasons."""
    lines = [f"- `{known.id}`: {known.why}" for known in sorted(differences, key=lambda k: k.id)]
    return ("\n".join(lines) or "- none") + "\n"

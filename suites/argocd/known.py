"""Known differences between the model and a real Argo CD: data, in known.toml, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from suites.cluster.known import Known, listed, read_known
from tools.real_argocd.programs import ARGOCD_VERSION

FILE = Path(__file__).with_name("known.toml")


@cache
def known_differences() -> tuple[Known, ...]:
    return read_known(FILE)


def numbers(version: str) -> tuple[int, ...]:
    """`v3.5.2` as numbers that can be compared."""
    return tuple(int(part) for part in version.removeprefix("v").split("."))


def known(at: str, problem: str, version: str = ARGOCD_VERSION) -> Known | None:
    """The entry that explains a difference; `at` is the scenario, or `scenario/source` of an answer."""
    return next((entry for entry in _entries(version) if entry.covers(at, problem)), None)


def _entries(version: str) -> tuple[Known, ...]:
    """The entries without those that do not occur in this version of Argo CD."""
    return tuple(
        entry for entry in known_differences() if not entry.before or numbers(version) < numbers(entry.before)
    )


def stale(at: str, problems: Iterable[str], version: str = ARGOCD_VERSION) -> list[str]:
    """Entries that name this place, not only by a pattern, but none of its differences.

    Differences that depend on the version must occur in the one that is built, not in one between.
    """
    found = {entry.id for entry in (known(at, problem, version) for problem in problems) if entry is not None}
    return [
        entry.id
        for entry in _entries(version)
        if entry.always
        and at in entry.where
        and entry.id not in found
        and (not entry.before or version == ARGOCD_VERSION)
    ]


def unexplained(at: str, problems: Iterable[str], version: str = ARGOCD_VERSION) -> list[str]:
    """Differences at this place that no entry explains, and entries that explain none of them."""
    given = list(problems)
    outdated = [
        f"{entry} does not differ any more: remove it from known.toml" for entry in stale(at, given, version)
    ]
    return [problem for problem in given if known(at, problem, version) is None] + outdated


_HEADING = """\
## Scenarios on a real Argo CD

`make test-argocd` plays scenarios of the lab on Argo CD 3.5 and compares what it reports, and what whysync
answers from each source, with the lab. These differ:
"""


def argocd_markdown() -> str:
    """The section of `docs/differences.md`."""
    return f"{_HEADING}\n{listed(known_differences())}"

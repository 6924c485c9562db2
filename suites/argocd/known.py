"""Known differences between the model and a real Argo CD: data, in known.toml, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from suites.cluster.known import Known, listed, read_known

FILE = Path(__file__).with_name("known.toml")


@cache
def known_differences() -> tuple[Known, ...]:
    return read_known(FILE)


def known(at: str, problem: str) -> Known | None:
    """The entry that explains a difference; `at` is the scenario, or `scenario/source` of an answer."""
    return next((entry for entry in known_differences() if entry.covers(at, problem)), None)


def stale(at: str, problems: Iterable[str]) -> list[str]:
    """Entries that name this place, not only by a pattern, but none of its differences."""
    found = {entry.id for entry in (known(at, problem) for problem in problems) if entry is not None}
    expected = (entry.id for entry in known_differences() if entry.always and at in entry.where)
    return [entry for entry in expected if entry not in found]


def unexplained(at: str, problems: Iterable[str]) -> list[str]:
    """Differences at this place that no entry explains, and entries that explain none of them."""
    given = list(problems)
    outdated = [f"{entry} does not differ any more: remove it from known.toml" for entry in stale(at, given)]
    return [problem for problem in given if known(at, problem) is None] + outdated


_HEADING = """\
## Scenarios on a real Argo CD

`make test-argocd` plays scenarios of the lab on Argo CD 3.2 and compares what it reports, and what whysync
answers from each source, with the lab. These differ:
"""


def argocd_markdown() -> str:
    """The section of `docs/differences.md`."""
    return f"{_HEADING}\n{listed(known_differences())}"

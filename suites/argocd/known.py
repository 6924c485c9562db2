"""Known differences between the model and a real Argo CD: data, in known.toml, each with its reason."""

from __future__ import annotations

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


_HEADING = """\
## Scenarios on a real Argo CD

`make test-argocd` plays scenarios of the lab on Argo CD 3.2 and compares what it reports, and what whysync
answers from each source, with the lab. These differ:
"""


def argocd_markdown() -> str:
    """The section of `docs/differences.md`."""
    return f"{_HEADING}\n{listed(known_differences())}"

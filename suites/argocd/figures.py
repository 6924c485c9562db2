"""What a run has compared, counted for each scenario.

Tests record parts of a row as a property of their report: scenarios are played by several processes, and all
reports reach the one that prints the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import pytest

PROPERTY: Final = "figures"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario; `fix` is empty if no proven fix was applied."""

    scenario: str
    seconds: float = 0.0
    compared: int = 0
    different: int = 0
    known: int = 0
    version: int = 0
    """The known differences that are due to the version of Argo CD."""
    sources: int = 0
    sources_equal: int = 0
    fix: str = ""
    plan: str = ""
    """Whether a plan of the last commit was right; empty if the scenario does not end with a push."""


@dataclass(slots=True, kw_only=True, eq=False)
class Figures:
    """A plugin of pytest that collects the rows; `results` is a file that gets a line per report."""

    results: Path | None = None
    rows: dict[str, Row] = field(default_factory=dict[str, Row])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = [cast(dict[str, Any], value) for name, value in report.user_properties if name == PROPERTY]
        for part in parts:
            row = msgspec.convert(part, Row)
            before = self.rows.get(row.scenario, row)
            self.rows[row.scenario] = msgspec.structs.replace(before, **part)
        if self.results is not None and (report.when == "call" or not report.passed):
            line = {"test": report.nodeid, "outcome": report.outcome, "figures": parts}
            with self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**line, "problem": report.longreprtext}) + "\n")

    def lines(self) -> Iterator[str]:
        rows = sorted(self.rows.values(), key=lambda row: row.scenario)
        values = f"{'seconds':>7} {'values':>6} {'differ':>6} {'known':>5} {'version':>7}"
        yield f"{'scenario':28} {values}  sources  {'fix':10}  plan"
        for row in rows:
            sources = f"{row.sources_equal}/{row.sources}" if row.sources else "-"
            values = f"{row.compared:6} {row.different:6} {row.known:5} {row.version:7}"
            yield (
                f"{row.scenario:28} {row.seconds:7.1f} {values}"
                f"  {sources:7}  {row.fix or '-':10}  {row.plan or '-'}"
            )
        compared = sum(row.compared for row in rows)
        different = sum(row.different for row in rows)
        share = 100 * (compared - different) / compared if compared else 0.0
        holds = sum(row.fix == "holds" for row in rows)
        fails = sum(row.fix == "fails" for row in rows)
        equal_values = f"{compared - different} of {compared} values equal ({share:.1f} %)"
        due = sum(row.version for row in rows)
        yield f"{len(rows)} scenarios played, {equal_values}; {due} differ due to the version of Argo CD"
        asked, equal = sum(row.sources for row in rows), sum(row.sources_equal for row in rows)
        yield f"{equal} of {asked} live answers equal to the lab's; proven fixes: {holds} hold, {fails} fail"
        right = sum(row.plan == "right" for row in rows)
        yield f"{right} of {sum(bool(row.plan) for row in rows)} plans of a last commit were right"

"""What a run has compared, counted for each scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Row:
    """One scenario; `fix` is empty if no proven fix was applied."""

    scenario: str
    seconds: float = 0.0
    compared: int = 0
    different: int = 0
    known: int = 0
    sources: int = 0
    sources_equal: int = 0
    fix: str = ""


@dataclass(slots=True, kw_only=True)
class Figures:
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    unplayed: dict[str, str] = field(default_factory=dict[str, str])

    def row(self, scenario: str) -> Row:
        return self.rows.setdefault(scenario, Row(scenario=scenario))

    def lines(self) -> Iterator[str]:
        rows = sorted(self.rows.values(), key=lambda row: row.scenario)
        yield f"{'scenario':28} {'seconds':>7} {'values':>6} {'differ':>6} {'known':>5}  sources  fix"
        for row in rows:
            sources = f"{row.sources_equal}/{row.sources}" if row.sources else "-"
            yield (
                f"{row.scenario:28} {row.seconds:7.1f} {row.compared:6} {row.different:6} {row.known:5}"
                f"  {sources:7}  {row.fix or '-'}"
            )
        compared = sum(row.compared for row in rows)
        different = sum(row.different for row in rows)
        share = 100 * (compared - different) / compared if compared else 0.0
        holds = sum(row.fix == "holds" for row in rows)
        fails = sum(row.fix == "fails" for row in rows)
        equal_values = f"{compared - different} of {compared} values equal ({share:.1f} %)"
        yield f"{len(rows)} scenarios played, {equal_values}"
        asked, equal = sum(row.sources for row in rows), sum(row.sources_equal for row in rows)
        yield f"{equal} of {asked} live answers equal to the lab's; proven fixes: {holds} hold, {fails} fail"
        for scenario, why in sorted(self.unplayed.items()):
            yield f"not played: {scenario}: {why}"

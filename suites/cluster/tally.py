"""How many requests were compared, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from suites.cluster.conversation import Compared
from suites.cluster.known import known_differences, why


class Tally:
    def __init__(self) -> None:
        self.compared = 0
        self.others = 0
        self.known: Counter[str] = Counter()
        """By id: how many requests differ for that reason."""
        self.cases: set[str] = set()

    def add(self, results: Iterable[Compared]) -> list[str]:
        """Counts them; gives back in words what differs and nobody knows why."""
        unknown: list[str] = []
        for result in results:
            self.compared += 1
            self.cases.add(result.at.partition("#")[0])
            reasons = [why(result.at, problem) for problem in result.problems]
            new = [p for p, reason in zip(result.problems, reasons, strict=True) if reason is None]
            if new:
                self.others += 1
                unknown += [f"{result.at} ({result.verb} {result.path})", *(f"    {line}" for line in new)]
            elif reasons:
                self.known.update({reason.id for reason in reasons if reason is not None})
        return unknown

    def lines(self) -> list[str]:
        differ = sum(self.known.values())
        head = f"{self.compared} requests compared, {differ} known differences, {self.others} others"
        reasons = {known.id: known.why for known in known_differences()}
        return [head, *(f"  {count} × {name}: {reasons[name]}" for name, count in sorted(self.known.items()))]

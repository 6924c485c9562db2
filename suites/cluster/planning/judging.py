"""What a plan said, beside what then happened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from suites.cluster.known import Known
from suites.cluster.planning.syncing import Outcome, outcome_of
from whysync.json_tree import fields
from whysync.kubernetes.api.ref import Ref
from whysync.plan.plan import Run

_CHANGING: Final = (
    (re.compile(r"/dev/shm/\d+"), "<file>"),
    (re.compile(r"(?!0{8}-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "<address>"),
    # No server but those of loopback may be dialled here, so that webhooks are moved there.
    (re.compile(r'Post "https://[^"]*": .*'), "<nobody answers>"),
    # Of several undeclared fields of an object, the server names the first in the random order of a Go map.
    (re.compile(r"\.[\w-]+: field not declared in schema"), ".<field>: field not declared in schema"),
    (re.compile(r"(resourceVersion\\*\":\\*\")\d+"), r"\1<version>"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One resource of one sync that was refused, on the server, in the plan, or in both."""

    at: str
    ref: Ref
    real: str | None
    planned: str | None

    @property
    def sort(self) -> str:
        if self.real is None:
            return "false alarm"
        if self.planned is None:
            return "not predicted"
        return "predicted" if words(self.real) == words(self.planned) else "other words"

    def __str__(self) -> str:
        name = f"{self.ref.kind}/{self.ref.name}" if self.ref.name else "the sync"
        return f"{self.sort}: {self.at}: {name}\n      real {self.real!r}\n      plan {self.planned!r}"


def words(message: str) -> str:
    for pattern, mark in _CHANGING:
        message = pattern.sub(mark, message)
    return message


def planned_outcome(run: Run, name: str) -> Outcome:
    """What the run of a plan came to, as Argo CD would say it."""
    if run.snapshot is None:
        assert run.passed, run.message
        return Outcome(phase="Succeeded", message="")
    (app,) = [application for application in run.snapshot.applications if application.ref.place == name]
    return outcome_of(fields(app.body.get("status")), message="" if run.passed else run.message)


def judged(at: str, real: Outcome, planned: Outcome) -> list[Judged]:
    return [
        Judged(at=at, ref=ref, real=real.refused.get(ref), planned=planned.refused.get(ref))
        for ref in sorted(real.refused.keys() | planned.refused.keys(), key=str)
    ]


@dataclass(slots=True)
class Score:
    """Counted over all syncs."""

    known: tuple[Known, ...]
    syncs: int = 0
    objects: int = 0
    sorts: Counter[str] = field(default_factory=Counter[str])
    met: Counter[str] = field(default_factory=Counter[str])
    """Known differences, by id."""
    where: set[str] = field(default_factory=set[str])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """What could not be tried, and why."""

    def add(self, at: str, real: Outcome, planned: Outcome) -> list[str]:
        """Gives back in words what the plan got wrong and nobody knows why."""
        self.syncs += 1
        self.objects += len(real.reached)
        self.where.add(at)
        unknown: list[str] = []
        for item in judged(at, real, planned):
            self.sorts[item.sort] += 1
            if item.sort == "predicted":
                continue
            why = next((known for known in self.known if known.covers(at, str(item))), None)
            if why is None:
                unknown.append(str(item))
            else:
                self.met[why.id] += 1
        return unknown

    def lines(self) -> Iterator[str]:
        hit, other = self.sorts["predicted"], self.sorts["other words"]
        real = hit + other + self.sorts["not predicted"]
        false_alarms = self.sorts["false alarm"]
        predicted = hit + other + false_alarms
        yield f"{self.syncs} syncs of {self.objects} objects: {real} were refused by the server"
        yield f"  predicted: {hit + other} of {real}{_share(hit + other, real)}, {hit} of them word for word"
        yield f"  false alarms: {false_alarms} of {predicted} predicted{_share(false_alarms, predicted)}"
        reasons = {item.id: item.why for item in self.known}
        for name, count in sorted(self.met.items()):
            yield f"  {count} × {name}: {reasons[name]}"
        for why in sorted(set(self.left_out.values())):
            names = ", ".join(sorted(at for at, reason in self.left_out.items() if reason == why))
            yield f"  not tried: {why}: {names}"


def _share(count: int, total: int) -> str:
    return f" ({100 * count / total:.1f} %)" if total else ""

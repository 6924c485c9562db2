"""The facts behind the tools: a bundle is read once, a live source again when the facts are too old."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cached_property

from msgspec.structs import replace

from whysync import app
from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.selection import Selection
from whysync.mcp import cursors
from whysync.mcp.errors import ToolError
from whysync.mcp.untrusted import name as safe_name

_MOST_KEPT = 8
"""Readings of single apps that are kept for cursors and repeated questions."""
_MOST_NAMED = 10

OpenSource = Callable[[Deadline], app.FactSource]
"""The source of the facts, with this time limit for its requests."""


class Reading:
    """Facts that were read at one time, and what has been computed from them."""

    def __init__(self, id: str, worlds: tuple[SnapshotIndex, ...], time: float) -> None:
        self.id = id
        self.time = time
        self._worlds = worlds
        self._diagnosed: dict[str, AppReport] = {}

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        return app.cases(self._worlds)

    @cached_property
    def fleet(self) -> Report:
        """The diagnosis of all apps, without simulations."""
        return app.diagnose(self.cases, prove=False)

    def case(self, name: str) -> Case:
        """The app of this name: `name`, `namespace/name` or `instance/namespace/name`."""
        matching = [case for case in self.cases if name in _names(case)]
        if not matching and name.count("/") == 2:  # an incident names the instance, also if there is only one
            short = name.partition("/")[2]
            matching = [case for case in self.cases if not case.instance and short in _names(case)]
        if not matching:
            raise ToolError(
                what=f"there is no app {safe_name(name)}",
                why=_similar(name, [case.qualified_name for case in self.cases]),
                next="call list_apps with search to find its name",
            )
        if len(matching) > 1:
            named = ", ".join(safe_name(case.qualified_name) for case in matching[:_MOST_NAMED])
            raise ToolError(
                what=f"{len(matching)} apps have the name {safe_name(name)}",
                why=f"they are {named}",
                next="repeat the call with one of these names",
            )
        return matching[0]

    def diagnosis(self, name: str, deadline: Deadline) -> AppReport:
        """The diagnosis of one app, with a simulated sync and simulated fixes."""
        case = self.case(name)
        report = self._diagnosed.get(case.qualified_name)
        if report is None:
            (report,) = app.diagnose((case,), deadline=deadline).apps
            if not deadline.is_over:
                self._diagnosed[case.qualified_name] = report
        return report


class Facts:
    def __init__(
        self,
        open_source: OpenSource,
        *,
        max_age: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_source
        self._max_age = max_age
        self._clock = clock
        self._readings: dict[str, Reading] = {}
        self._count = 0
        self._start = os.urandom(4).hex()

    def everything(self, deadline: Deadline, *, reading: str = "") -> Reading:
        """All facts of the source. `reading`: those of an earlier page, which must not have changed."""
        return self._read("", deadline, reading)

    def about(self, name: str, deadline: Deadline, *, reading: str = "") -> Reading:
        """The facts about one app: a live source is asked for this app only."""
        return self._read(name, deadline, reading)

    def source(self, deadline: Deadline) -> app.FactSource:
        return self._open(deadline)

    def _read(self, name: str, deadline: Deadline, reading: str) -> Reading:
        source = self._open(deadline)
        key = "" if source.bundles else name
        kept = self._readings.get(key)
        if reading:
            if kept is None or kept.id != reading:
                raise cursors.outdated()
            return kept
        if kept is not None and (source.bundles or self._clock() - kept.time <= self._max_age):
            return kept
        if key:
            selection = replace(source.selection or Selection(), names=(key,))
            source = replace(source, selection=selection)
        worlds = app.read(source)
        self._count += 1
        fresh = Reading(f"{self._start}{self._count:x}", worlds, self._clock())
        self._readings.pop(key, None)
        self._readings[key] = fresh
        while len(self._readings) > _MOST_KEPT:
            del self._readings[next(iter(self._readings))]
        return fresh


def _names(case: Case) -> tuple[str, ...]:
    """Every name under which an app is found, also as answers show it."""
    names = (case.app.name, case.app.qualified_name, case.qualified_name)
    return (*names, *map(safe_name, names))


def _similar(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    short = {full.rpartition("/")[2]: full for full in known}
    matches = get_close_matches(name.rpartition("/")[2], short, n=3)
    if matches:
        return f"did you mean {' or '.join(safe_name(short[match]) for match in matches)}?"
    return f"none of the {len(known)} known names is similar"

"""The lab as a source: scenarios run on a virtual clock that is faster than real time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Final

from msgspec.structs import replace

from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NotFound
from whysync.history.model import AppKey
from whysync.lab.library import built_in
from whysync.lab.parse import scenario_from
from whysync.lab.player import ScenarioRun
from whysync.lab.scenario import Scenario
from whysync.watch.sources import Poll, key_of

SCENARIOS: Final = (
    "hpa-loop", "migration-dead-database", "dead-webhook", "wave-stalled", "memory-limit",
    "prune-gone-wrong", "project-denied", "waits-for-a-sync", "self-heal-war", "hook-works-on-staging",
    "image-missing", "quota", "sidecar-injected", "pending-prune", "hook-without-deadline",
)  # fmt: skip
"""What `make demo-web` plays, one after another: they start at intervals, so that incidents develop."""
_STAGGER: Final = timedelta(minutes=1)


class VirtualClock:
    """Time that runs `speed` times as fast, from now until `run_normally`."""

    def __init__(self, speed: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._speed = speed
        self._monotonic = monotonic
        self._started = monotonic()
        self.starts = self._since = datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self._since + timedelta(seconds=(self._monotonic() - self._started) * self._speed)

    def run_normally(self) -> None:
        """From now on an hour takes an hour."""
        self._since, self._started, self._speed = self(), self._monotonic(), 1.0


class LabSource:
    """Scenarios of the lab as one Argo CD instance. A scenario that has ended keeps its last state.

    When the last one has ended, nothing develops further: the clock then runs normally, so that what the
    facts say about times stays about right.
    """

    name = instance = "lab"
    interval = 1.0

    def __init__(self, names: Sequence[str], clock: VirtualClock) -> None:
        self.description = f"{len(names) + 1} scenarios of the lab on a virtual clock"
        self._clock = clock
        scenarios = [outbreak(), *map(built_in, names)]
        self._pending = [
            replace(scenario, starts=clock.starts + number * _STAGGER)
            for number, scenario in enumerate(scenarios)
        ]
        self._runs: dict[str, ScenarioRun] = {}
        self._has_ended = False
        self._keys: dict[str, frozenset[AppKey]] = {}

    def instances(self) -> frozenset[str]:
        return frozenset((self.name,))

    def look_again(self, _namespace: str, _name: str, /) -> None:
        """Every poll has all apps of the lab."""

    def poll(self) -> Iterator[Poll]:
        now = self._clock()
        if not self._has_ended and not self._pending and all(map(_has_ended, self._runs.values())):
            self._has_ended = True
            self._clock.run_normally()
        for scenario in [scenario for scenario in self._pending if scenario.starts <= now]:
            self._pending.remove(scenario)
            self._runs[scenario.name] = ScenarioRun(scenario)
        for name, run in self._runs.items():
            left = min(now, _end(run)) - run.now
            if left <= timedelta(0):
                continue
            run.run_for(left)
            cases = self._cases(run)
            self._keys[name] = frozenset(key_of(case, self.instance) for case in cases)
            yield Poll(cases=cases, present=frozenset[AppKey]().union(*self._keys.values()), at=now)

    def _cases(self, run: ScenarioRun) -> tuple[Case, ...]:
        try:
            return app.cases(SnapshotIndex(run.snapshot()))
        except NotFound:
            return ()


def _end(run: ScenarioRun) -> datetime:
    return run.scenario.starts + timedelta(seconds=run.scenario.ends)


def _has_ended(run: ScenarioRun) -> bool:
    return run.now >= _end(run)


def outbreak() -> Scenario:
    """One cause that several apps share, from its beginning to its end."""
    text = (files("whysync.watch") / "demo_outbreak.yaml").read_text(encoding="utf-8")
    return scenario_from(text, name="outbreak", origin="demo_outbreak.yaml")

"""The polling loop of `whysync wait`: until all apps reach the goal, one cannot reach it, or it times out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from whysync.diagnosis.case import Case
from whysync.errors import SourceError, UsageError
from whysync.wait.goal import Distance, Goal, Standing, distance

Look = Callable[[float], Sequence[Case]]
"""Returns the current apps; gets the number of remaining seconds."""


class Watcher(Protocol):
    """Is notified of every poll."""

    def seen(self, cases: Sequence[Case], apart: Sequence[Distance], elapsed: float) -> None: ...

    def unread(self, problem: SourceError, elapsed: float) -> None: ...


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `patience`: an app that is unhealthy for this long has failed."""

    timeout: float = 600.0
    interval: float = 5.0
    patience: float = 60.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    cases: tuple[Case, ...]
    apart: tuple[Distance, ...]
    elapsed: float
    timed_out: bool = False

    @property
    def done(self) -> bool:
        return all(distance.standing is Standing.DONE for distance in self.apart)


def wait(
    look: Look,
    goal: Goal,
    times: Times,
    watcher: Watcher,
    *,
    clock: Callable[[], float],
    pause: Callable[[float], None],
) -> Outcome:
    """Poll until done. A source that fails once is polled again; one that never responded is an error."""
    began = clock()
    ill_since: dict[str, float] = {}
    last: Outcome | None = None
    problem: SourceError | None = None
    while True:
        try:
            cases = tuple(look(max(times.timeout - (clock() - began), 1.0)))
            problem = None
        except UsageError:
            raise
        except SourceError as error:
            if last is None:
                raise
            cases, problem = last.cases, error
        elapsed = clock() - began
        if problem is None:
            apart = tuple(distance(case, goal) for case in cases)
            last = Outcome(cases=cases, apart=apart, elapsed=elapsed)
            watcher.seen(cases, apart, elapsed)
            if last.done or _is_over(last, ill_since, times.patience):
                return last
        else:
            watcher.unread(problem, elapsed)
        assert last is not None
        if elapsed >= times.timeout:
            return msgspec.structs.replace(last, elapsed=elapsed, timed_out=True)
        pause(min(times.interval, max(times.timeout - elapsed, 0.01)))


def _is_over(seen: Outcome, ill_since: dict[str, float], patience: float) -> bool:
    over = False
    for case, apart in zip(seen.cases, seen.apart, strict=True):
        name = case.app.qualified_name
        if apart.standing is Standing.ILL:
            over = over or seen.elapsed - ill_since.setdefault(name, seen.elapsed) >= patience
        else:
            ill_since.pop(name, None)
            over = over or apart.standing is Standing.FAILED
    return over

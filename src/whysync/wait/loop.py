"""The polling loop of `whysync wait`: until all apps reach the goal, one cannot reach it, or it times out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from whysync.diagnosis.case import Case
from whysync.errors import SourceError, UsageError
from whysync.wait.goal import Distance, Goal, WaitState, distance

Poll = Callable[[float], Sequence[Case]]
"""Returns the current apps; gets the number of remaining seconds."""


class PollListener(Protocol):
    """Is notified of every poll."""

    def on_poll(self, cases: Sequence[Case], distances: Sequence[Distance], elapsed: float) -> None: ...

    def on_read_error(self, problem: SourceError, elapsed: float) -> None: ...


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `unhealthy_timeout`: an app that is unhealthy for this long has failed."""

    timeout: float = 600.0
    interval: float = 5.0
    unhealthy_timeout: float = 60.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The apps at the last poll, and how far they are from the goal."""

    cases: tuple[Case, ...]
    distances: tuple[Distance, ...]
    elapsed: float
    timed_out: bool = False

    @property
    def done(self) -> bool:
        return all(distance.state is WaitState.DONE for distance in self.distances)


def wait(
    poll: Poll,
    goal: Goal,
    times: Times,
    listener: PollListener,
    *,
    clock: Callable[[], float],
    pause: Callable[[float], None],
) -> Outcome:
    """Poll until done. A source that fails once is polled again; one that never responded is an error."""
    started_at = clock()
    unhealthy_since: dict[str, float] = {}
    last: Outcome | None = None
    problem: SourceError | None = None
    while True:
        try:
            cases = tuple(poll(max(times.timeout - (clock() - started_at), 1.0)))
            problem = None
        except UsageError:
            raise
        except SourceError as error:
            if last is None:
                raise
            cases, problem = last.cases, error
        elapsed = clock() - started_at
        if problem is None:
            distances = tuple(distance(case, goal) for case in cases)
            last = Outcome(cases=cases, distances=distances, elapsed=elapsed)
            listener.on_poll(cases, distances, elapsed)
            if last.done or _has_failed_app(last, unhealthy_since, times.unhealthy_timeout):
                return last
        else:
            listener.on_read_error(problem, elapsed)
        assert last is not None
        if elapsed >= times.timeout:
            return msgspec.structs.replace(last, elapsed=elapsed, timed_out=True)
        pause(min(times.interval, max(times.timeout - elapsed, 0.01)))


def _has_failed_app(outcome: Outcome, unhealthy_since: dict[str, float], unhealthy_timeout: float) -> bool:
    """Has a sync failed, or is an app unhealthy for too long?"""
    failed = False
    for case, app_distance in zip(outcome.cases, outcome.distances, strict=True):
        name = case.qualified_name
        if app_distance.state is WaitState.UNHEALTHY:
            since = unhealthy_since.setdefault(name, outcome.elapsed)
            failed = failed or outcome.elapsed - since >= unhealthy_timeout
        else:
            unhealthy_since.pop(name, None)
            failed = failed or app_distance.state is WaitState.FAILED
    return failed

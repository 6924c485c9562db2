"""Decide whether to retry a request, and after which pause."""

from __future__ import annotations

import time

from whysync.deadline import Deadline
from whysync.facts.http.errors import HttpError, MalformedResponse, TimedOut, Unreachable
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.rate_limit import pause_before, retry_after
from whysync.facts.http.response import Answer

_WAIT = frozenset((429, 502, 503, 504))


class RetryPolicy:
    """The remaining attempts and time of one request."""

    def __init__(self, limits: HttpLimits, name: str, path: str) -> None:
        self._limits = limits
        self._name, self._path = name, path
        self._until: float | None = None
        self._tried = 0
        self._silences = 0
        self._garbled = 0

    def left(self) -> float:
        """Seconds for the next attempt. Time in the queue before the first does not count."""
        deadline = self._limits.deadline
        if deadline.is_over:
            raise out_of_time(deadline, self._name, self._path)
        now = time.monotonic()
        if self._until is None:
            self._until = min(now + self._limits.call_seconds, deadline.ends)
        return max(0.01, min(self._limits.try_seconds, self._until - now))

    def pause(self, problem: HttpError, answer: Answer | None) -> float:
        """Seconds before the next attempt; raises the error if there is none."""
        self._tried += 1
        if isinstance(problem, _Over) or self._tried >= self._limits.tries or not self._may_pass(problem):
            raise problem
        asked = retry_after(answer.headers.get("retry-after", "")) if answer is not None else None
        seconds = pause_before(self._tried + 1, self._limits, asked=asked)
        if self._until is not None and time.monotonic() + seconds >= self._until:
            if asked is not None:
                problem.why = f"{problem.why} (it asks to wait {asked:.3g} s, which is longer than there is)"
            raise problem
        return seconds

    def _may_pass(self, problem: HttpError) -> bool:
        if isinstance(problem, TimedOut):
            self._silences += 1
            return self._silences < self._limits.tries_after_silence
        if isinstance(problem, MalformedResponse):  # possibly truncated by a proxy
            self._garbled += 1
            return self._garbled < 2
        if problem.status == 500:
            return self._limits.retries_internal_errors and self._tried < 2
        return isinstance(problem, Unreachable) or problem.status in _WAIT


class _Over(TimedOut):
    """No time is left, for this request or any other."""


def out_of_time(deadline: Deadline, name: str, path: str) -> TimedOut:
    return _Over(
        what=f"the time for asking {name} is used up",
        why=f"{path}: the limit of {deadline.seconds:.3g} s was reached",
        next="give it more time with --timeout, or ask for fewer Applications",
        path=path,
    )

"""Decide whether to retry a request, and after which pause."""

from __future__ import annotations

import time

from whysync.deadline import Deadline
from whysync.facts.http.errors import HttpError, MalformedResponse, TimedOut, Unreachable
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.rate_limit import pause_before, retry_after
from whysync.facts.http.response import Response

_RETRIED_STATUSES = frozenset((429, 502, 503, 504))


class RetryPolicy:
    """The remaining attempts and time of one request."""

    def __init__(self, limits: HttpLimits, name: str, path: str) -> None:
        self._limits = limits
        self._name, self._path = name, path
        self._until: float | None = None
        self._attempts = 0
        self._silences = 0
        self._malformed = 0

    def remaining(self) -> float:
        """Seconds for the next attempt. Time in the queue before the first does not count."""
        deadline = self._limits.deadline
        if deadline.is_over:
            raise out_of_time(deadline, self._name, self._path)
        now = time.monotonic()
        if self._until is None:
            self._until = min(now + self._limits.call_seconds, deadline.ends)
        return max(0.01, min(self._limits.try_seconds, self._until - now))

    def pause(self, problem: HttpError, response: Response | None) -> float:
        """Seconds before the next attempt; raises the error if there is none."""
        self._attempts += 1
        if (
            isinstance(problem, _DeadlineReached)
            or self._attempts >= self._limits.tries
            or not self._is_temporary(problem)
        ):
            raise problem
        requested = retry_after(response.headers.get("retry-after", "")) if response is not None else None
        seconds = pause_before(self._attempts + 1, self._limits, requested=requested)
        if self._until is not None and time.monotonic() + seconds >= self._until:
            if requested is not None:
                problem.why = f"{problem.why} (Retry-After of {requested:.3g} s exceeds the time left)"
            raise problem
        return seconds

    def _is_temporary(self, problem: HttpError) -> bool:
        if isinstance(problem, TimedOut):
            self._silences += 1
            return self._silences < self._limits.tries_after_silence
        if isinstance(problem, MalformedResponse):  # possibly truncated by a proxy
            self._malformed += 1
            return self._malformed < 2
        if problem.status == 500:
            return self._limits.retries_internal_errors and self._attempts < 2
        return isinstance(problem, Unreachable) or problem.status in _RETRIED_STATUSES


class _DeadlineReached(TimedOut):
    """The deadline of all requests is reached."""


def out_of_time(deadline: Deadline, name: str, path: str) -> TimedOut:
    return _DeadlineReached(
        what=f"the time limit for requests to {name} is reached",
        why=f"{path}: the limit of {deadline.seconds:.3g} s was reached",
        next="allow more time with --timeout, or select fewer Applications",
        path=path,
    )

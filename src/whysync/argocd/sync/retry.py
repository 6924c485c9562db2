"""When a failed sync is tried again.

Mirrors `RetryStrategy.NextRetryAt`, Argo CD 3.6: the wait grows by a factor with each attempt, up to a limit.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.api.application import Backoff, Retry
from whysync.golang.duration import BadDuration, parse_duration

DEFAULT_DURATION: Final = timedelta(seconds=5)
DEFAULT_MAX_DURATION: Final = timedelta(minutes=3)
DEFAULT_FACTOR: Final = 2
AUTOMATED_LIMIT: Final = 5
"""Of automated syncs whose Application says nothing; syncs by hand are not tried again."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_LONGEST: Final = timedelta(days=365 * 290)
"""About what Go's durations can hold."""


class BadBackoff(ValueError):
    """The text is Argo CD's."""


def retry_delay(retry: Retry | None, retry_count: int) -> timedelta:
    """How long to wait after attempt number `retry_count`, counted from 0. Raises `BadBackoff`."""
    backoff = (retry.backoff if retry is not None else None) or Backoff()
    duration = _duration(backoff.duration) if backoff.duration else DEFAULT_DURATION
    most = _duration(backoff.max_duration) if backoff.max_duration else DEFAULT_MAX_DURATION
    factor = DEFAULT_FACTOR if backoff.factor is None else backoff.factor
    try:
        seconds = duration.total_seconds() * float(factor) ** retry_count
    except (OverflowError, ZeroDivisionError):
        seconds = _LONGEST.total_seconds()
    limit = min(most, _LONGEST) if most > timedelta() else _LONGEST
    return timedelta(seconds=max(-limit.total_seconds(), min(seconds, limit.total_seconds())))


def next_retry_at(retry: Retry | None, last_attempt: datetime, retry_count: int) -> datetime:
    """Raises `BadBackoff`."""
    try:
        return last_attempt + retry_delay(retry, retry_count)
    except OverflowError:
        return datetime.max.replace(tzinfo=last_attempt.tzinfo)


def may_retry(retry: Retry | None, retry_count: int) -> bool:
    """Below zero there is no limit."""
    limit = retry.limit if retry is not None else 0
    return limit < 0 or retry_count < limit


def _duration(text: str) -> timedelta:
    """A bare number is seconds."""
    if _NUMBER.fullmatch(text):
        return timedelta(seconds=max(-_LONGEST.total_seconds(), min(int(text), _LONGEST.total_seconds())))
    try:
        return parse_duration(text)
    except BadDuration:
        raise BadBackoff(f"unable to parse {text} as a duration") from None

"""Retries of a failed sync.

Mirrors `RetryStrategy.NextRetryAt`, Argo CD 3.6: the delay grows by a factor with each attempt, up to a
limit.
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
"""The default of automated syncs; manual syncs are not retried."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_MAX_DURATION: Final = timedelta(days=365 * 290)
"""About the maximum of a Go duration."""


class BadBackoff(ValueError):
    """With Argo CD's message."""


def retry_delay(retry: Retry | None, retry_count: int) -> timedelta:
    """The delay after attempt number `retry_count`, counted from 0. Raises `BadBackoff`."""
    backoff = (retry.backoff if retry is not None else None) or Backoff()
    duration = _duration(backoff.duration) if backoff.duration else DEFAULT_DURATION
    max_duration = _duration(backoff.max_duration) if backoff.max_duration else DEFAULT_MAX_DURATION
    factor = DEFAULT_FACTOR if backoff.factor is None else backoff.factor
    try:
        seconds = duration.total_seconds() * float(factor) ** retry_count
    except (OverflowError, ZeroDivisionError):
        seconds = _MAX_DURATION.total_seconds()
    limit = min(max_duration, _MAX_DURATION) if max_duration > timedelta() else _MAX_DURATION
    return timedelta(seconds=max(-limit.total_seconds(), min(seconds, limit.total_seconds())))


def next_retry_at(retry: Retry | None, last_attempt: datetime, retry_count: int) -> datetime:
    """Raises `BadBackoff`."""
    try:
        return last_attempt + retry_delay(retry, retry_count)
    except OverflowError:
        return datetime.max.replace(tzinfo=last_attempt.tzinfo)


def may_retry(retry: Retry | None, retry_count: int) -> bool:
    """A negative limit means no limit."""
    limit = retry.limit if retry is not None else 0
    return limit < 0 or retry_count < limit


def _duration(text: str) -> timedelta:
    """A bare number is seconds."""
    if _NUMBER.fullmatch(text):
        return timedelta(
            seconds=max(-_MAX_DURATION.total_seconds(), min(int(text), _MAX_DURATION.total_seconds()))
        )
    try:
        return parse_duration(text)
    except BadDuration:
        raise BadBackoff(f"unable to parse {text} as a duration") from None

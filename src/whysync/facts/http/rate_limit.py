"""Rate limiting for the HTTP client, and the pauses between retries."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from whysync.facts.http.limits import HttpLimits


class RateLimit:
    """Requests per second after an initial burst, as in kubectl."""

    def __init__(self, limits: HttpLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / limits.per_second if limits.per_second > 0 else 0.0
        self._burst_seconds = limits.burst * self._interval
        self._clock = clock
        self._next = clock() - self._burst_seconds

    async def wait(self) -> None:
        seconds = self.reserve()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def reserve(self) -> float:
        """Seconds until the next request may be sent; reserves its slot."""
        now = self._clock()
        self._next = max(self._next + self._interval, now - self._burst_seconds)
        return max(0.0, self._next - now)


def pause_before(attempt: int, limits: HttpLimits, *, requested: float | None = None) -> float:
    """Seconds before attempt number `attempt` (from 2): exponential backoff with jitter.

    `Retry-After` of the server is honored, plus jitter, because other clients got the same value.
    """
    if requested is not None:
        return requested + random.uniform(0, min(0.5, 0.1 + requested / 10))
    longest = min(limits.longest_pause_seconds, limits.first_pause_seconds * 2 ** (attempt - 2))
    return random.uniform(longest / 2, longest)


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """`Retry-After` in seconds; the header is a number or a date."""
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    until = http_date(value)
    if until is None:
        return None
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def http_date(value: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)

"""Politeness: pauses that grow and scatter, what a server asks for, and a steady rate after a first burst."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.rate_limit import RateLimit, http_date, pause_before, retry_after


@given(st.integers(2, 40))
def test_pauses_grow_to_a_limit_and_are_never_alike(attempt: int) -> None:
    limits = HttpLimits(first_pause_seconds=0.2, longest_pause_seconds=15)
    most = min(15, 0.2 * 2 ** (attempt - 2))
    assert most / 2 <= pause_before(attempt, limits) <= most


@given(st.floats(0, 1000))
def test_retry_after_is_respected(retry_after: float) -> None:
    assert retry_after <= pause_before(2, HttpLimits(), requested=retry_after) <= retry_after + 0.5


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("0", 0),
        ("17", 17),
        (" 3 ", 3),
        ("Mon, 02 Mar 2026 03:27:30 GMT", 30),
        ("Mon, 02 Mar 2026 03:26:30 GMT", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 400, 999999999),
    ],
)
def test_retry_after(written: str, seconds: float | None) -> None:
    assert retry_after(written, datetime(2026, 3, 2, 3, 27, tzinfo=UTC)) == seconds


@given(st.text(max_size=40))
def test_dates_that_are_none(written: str) -> None:
    result = http_date(written)
    assert result is None or result.tzinfo is not None


def test_after_a_burst_requests_come_at_a_rate() -> None:
    now = [0.0]
    pace = RateLimit(HttpLimits(per_second=10, burst=5), lambda: now[0])
    assert [round(pace.reserve(), 3) for _ in range(8)] == [0, 0, 0, 0, 0, 0.1, 0.2, 0.3]
    now[0] = 100.0  # a long rest: the burst is there again, and no more than it
    assert [round(pace.reserve(), 3) for _ in range(7)] == [0, 0, 0, 0, 0, 0, 0.1]
    free = RateLimit(HttpLimits(per_second=0), lambda: now[0])
    assert [free.reserve() for _ in range(500)] == [0] * 500

"""Go durations: parsing, errors, and text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.golang.duration import (
    BadDuration,
    nanoseconds_text,
    parse_duration,
    parse_nanoseconds,
    seconds_text,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1h30m", 5400), ("-1.5m", -90), ("1.s", 1), ("+.5s", 0.5), ("1000000µs", 1), ("3ns", 0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        (".s", 'time: invalid duration ".s"'),
        ("h", 'time: invalid duration "h"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
        ("1h 30m", 'time: unknown unit "h " in duration "1h 30m"'),
    ],
)
def test_durations_that_go_refuses(text: str, error: str) -> None:
    with pytest.raises(BadDuration) as problem:
        parse_duration(text)
    assert str(problem.value) == error


def test_days_are_an_option() -> None:
    assert parse_nanoseconds("1d12h", days=True) == 36 * 3600 * 10**9


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "1m30s"), (2, "2s"), (0.5, "500ms"), (60, "1m0s"), (3661, "1h1m1s"), (0, "0s"), (-1.5, "-1.5s")],
)
def test_seconds_as_go_prints_them(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@given(st.integers(min_value=-(2**63) + 1, max_value=2**63 - 1))
def test_the_text_of_a_duration_parses_to_the_same_duration(nanoseconds: int) -> None:
    assert parse_nanoseconds(nanoseconds_text(nanoseconds)) == nanoseconds

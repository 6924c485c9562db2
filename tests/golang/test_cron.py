"""Schedules: what each field means, where clocks jump, and what is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whysync.golang.cron import BadSchedule, parse_schedule, time_zone

START = datetime(2026, 3, 7, 12, 0, tzinfo=UTC)  # a Saturday


def after(schedule: str, start: datetime = START) -> datetime | None:
    return parse_schedule(schedule).next_after(start)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", datetime(2026, 3, 7, 12, 1, tzinfo=UTC)),
        ("0 12 * * *", datetime(2026, 3, 8, 12, 0, tzinfo=UTC)),
        ("*/20 * * * *", datetime(2026, 3, 7, 12, 20, tzinfo=UTC)),
        ("50/5 * * * *", datetime(2026, 3, 7, 12, 50, tzinfo=UTC)),
        ("0 9 * * mon-FRI", datetime(2026, 3, 9, 9, 0, tzinfo=UTC)),
        ("0 0 ? FEB *", datetime(2027, 2, 1, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("0 0 13 * 1", datetime(2026, 3, 9, tzinfo=UTC)),
        ("0 0 */2 * 1", datetime(2026, 3, 9, tzinfo=UTC)),
        ("0 0 31 2 *", None),
        (", * * * *", None),
        ("0 0 , * ,", None),
    ],
)
def test_next_activation(schedule: str, expected: datetime | None) -> None:
    assert after(schedule) == expected


@pytest.mark.parametrize(
    ("schedule", "error"),
    [
        ("", "empty spec string"),
        ("@daily", "parser does not accept descriptors: @daily"),
        ("0 0 * *", "expected exactly 5 fields, found 4: [0 0 * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        (f"{'9' * 9000} * * * *", f'strconv.Atoi: parsing "{"9" * 9000}": value out of range'),
        ("TZ=../etc 0 0 * * *", "provided bad location ../etc: unknown time zone ../etc"),
        ("TZ=UTC", "expected exactly 5 fields, found 0"),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_librarys_words(schedule: str, error: str) -> None:
    with pytest.raises(BadSchedule) as problem:
        parse_schedule(schedule)
    assert error in str(problem.value)


def test_an_hour_that_the_clock_skips_is_skipped() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 3, 28, 12, 0, tzinfo=berlin)
    assert after("30 2 * * *", before) == datetime(2026, 3, 30, 2, 30, tzinfo=berlin)


def test_an_hour_that_the_clock_repeats_counts_twice() -> None:
    schedule = parse_schedule("CRON_TZ=America/New_York 30 1 * * *")
    first = schedule.next_after(datetime(2026, 11, 1, tzinfo=UTC))
    assert first == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert schedule.next_after(datetime(2026, 11, 1, 5, 30, tzinfo=UTC)) == datetime(
        2026, 11, 1, 6, 30, tzinfo=UTC
    )


def test_a_day_that_never_was_does_not_stop_the_search() -> None:
    apia = ZoneInfo("Pacific/Apia")
    before = datetime(2011, 12, 29, 12, 0, tzinfo=apia)
    assert after("0 12 30 12 *", before) == datetime(2012, 12, 30, 12, 0, tzinfo=apia)


def test_the_end_of_the_calendar_is_no_error() -> None:
    assert after("0 0 1 1 *", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)) is None


def test_an_unknown_zone_is_none() -> None:
    assert [time_zone(name) for name in ("", "UTC", "Nope", "a\0b", "x" * 5000, "/etc")] == [
        UTC, UTC, None, None, None, None,
    ]  # fmt: skip


_PART = st.sampled_from(["*", "?", "0", "5", "1-5", "*/7", "2/3", "1,3", "mon", "jan-mar", "", "x", "-"])


@given(st.lists(_PART, min_size=5, max_size=5), st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))
def test_an_answer_is_a_whole_minute_behind_the_start(parts: list[str], start: datetime) -> None:
    moment = start.replace(tzinfo=UTC)
    try:
        result = after(" ".join(parts), moment)
    except BadSchedule:
        return
    if result is not None:
        assert moment < result <= moment + timedelta(days=366 * 6)
        assert (result.second, result.microsecond) == (0, 0)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["*", "5", "1-5", "*/7", "2/3", "1,3", "?"]), min_size=5, max_size=5),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)
def test_the_short_way_in_utc_finds_what_the_long_way_finds(parts: list[str], start: datetime) -> None:
    schedule = " ".join(parts)
    long_way = after(schedule, start.replace(tzinfo=ZoneInfo("Etc/UTC")))
    assert after(schedule, start.replace(tzinfo=UTC)) == long_way


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(BadSchedule):
        result = after(text)
        assert result is None or result > START

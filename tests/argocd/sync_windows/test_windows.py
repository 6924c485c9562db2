"""Sync windows: which select an app, who decides, and when a sync may run next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.unreached.window_editing import window_problem, windows_problem
from whysync.argocd.api.application import Application, Destination, Metadata, Spec
from whysync.argocd.api.project import SyncWindow
from whysync.argocd.sync_windows.windows import (
    BadWindow,
    WindowReason,
    can_sync,
    has_known_zone,
    is_open,
    matching,
    next_allowed,
    next_change,
)

NOON = datetime(2026, 3, 11, 12, 0, 30, tzinfo=UTC)  # a Wednesday
OFFICE = SyncWindow(kind="allow", schedule="0 9 * * 1-5", duration="8h", applications=("*",))
FREEZE = SyncWindow(kind="deny", schedule="0 11 * * *", duration="2h", applications=("*",))
NIGHT = SyncWindow(kind="allow", schedule="0 22 * * *", duration="1h", applications=("*",))


def test_nothing_stands_in_the_way_without_windows() -> None:
    assert can_sync((), NOON, manual=False).reason is WindowReason.NO_WINDOWS


def test_an_open_deny_wins_and_is_named() -> None:
    verdict = can_sync((OFFICE, FREEZE), NOON, manual=False)
    assert not verdict.allowed
    assert verdict.reason is WindowReason.DENY_OPEN
    assert verdict.windows[0] is FREEZE


def test_outside_of_all_allows_each_of_them_is_named() -> None:
    verdict = can_sync((NIGHT,), NOON, manual=True)
    assert (verdict.reason, verdict.windows) == (WindowReason.ALLOWS_CLOSED, (NIGHT,))


def test_denies_that_are_closed_leave_the_way_free() -> None:
    later = NOON + timedelta(hours=4)
    assert can_sync((FREEZE,), later, manual=False).reason is WindowReason.DENIES_CLOSED


def test_people_need_leave_from_every_window_that_decides() -> None:
    by_hand = SyncWindow(kind="deny", schedule="0 11 * * *", duration="2h", manual_sync=True)
    assert can_sync((by_hand,), NOON, manual=True).reason is WindowReason.MANUAL_IN_DENY
    assert can_sync((by_hand,), NOON, manual=False).reason is WindowReason.DENY_OPEN
    assert can_sync((by_hand, FREEZE), NOON, manual=True).reason is WindowReason.DENY_OPEN


def test_a_sync_may_finish_in_a_window_that_allows_overrun() -> None:
    lenient = SyncWindow(kind="deny", schedule="0 11 * * *", duration="2h", sync_overrun=True)
    before, within = NOON - timedelta(hours=2), NOON - timedelta(minutes=5)
    verdict = can_sync((lenient,), NOON, manual=False, started_at=before)
    assert verdict.reason is WindowReason.OVERRUN_INTO_DENY
    assert not can_sync((lenient,), NOON, manual=False, started_at=within).allowed
    assert not can_sync((FREEZE,), NOON, manual=False, started_at=before).allowed


def test_one_window_that_cannot_be_read_blocks_all() -> None:
    broken = SyncWindow(kind="allow", schedule="0 9 * * 7", duration="1h", applications=("*",))
    verdict = can_sync((OFFICE, broken), NOON, manual=True)
    assert verdict.reason is WindowReason.INVALID
    assert verdict.windows == (broken,)
    assert verdict.error.startswith("invalid sync windows: cannot parse schedule '0 9 * * 7': end of range")
    assert next_allowed((OFFICE, broken), NOON) is None


def test_a_schedule_that_is_never_due_is_always_open() -> None:
    assert is_open(SyncWindow(kind="deny", schedule="0 0 30 2 *", duration="1h"), NOON)


def test_a_zone_that_nobody_knows_counts_as_utc() -> None:
    window = SyncWindow(kind="allow", schedule="0 11 * * *", duration="2h", time_zone="Europe/Nowhere")
    assert not has_known_zone(window)
    assert has_known_zone(OFFICE)
    assert is_open(window, NOON)


def test_a_window_is_open_between_its_ends_only() -> None:
    window = SyncWindow(kind="allow", schedule="0 12 * * *", duration="1h")
    start, second = datetime(2026, 3, 11, 12, 0, tzinfo=UTC), timedelta(seconds=1)
    assert not is_open(window, start)
    assert is_open(window, start + second)
    assert is_open(window, start + timedelta(hours=1) - second)
    assert not is_open(window, start + timedelta(hours=1))


@pytest.mark.parametrize(
    ("window", "selected"),
    [
        (SyncWindow(applications=("sh*",)), True),
        (SyncWindow(clusters=("prod",), namespaces=("nowhere",)), True),
        (SyncWindow(clusters=("https://1.2.3.4",)), False),
        (SyncWindow(applications=("shop",), namespaces=("nowhere",), and_operator=True), False),
        (SyncWindow(applications=("shop",), namespaces=("w*",), and_operator=True), True),
        (SyncWindow(and_operator=True), False),
        (SyncWindow(applications=("!other",)), False),
    ],
)
def test_which_windows_select_an_app(window: SyncWindow, selected: bool) -> None:
    destination = Destination(name="prod", namespace="web")
    app = Application(metadata=Metadata(name="shop"), spec=Spec(destination=destination))
    assert bool(matching((window,), app)) is selected


def test_the_next_opening_is_behind_the_deny_and_inside_the_allow() -> None:
    assert next_allowed((OFFICE, FREEZE), NOON) == datetime(2026, 3, 11, 13, tzinfo=UTC)
    evening = datetime(2026, 3, 13, 18, tzinfo=UTC)  # a Friday
    assert next_allowed((OFFICE, FREEZE), evening) == datetime(2026, 3, 16, 9, tzinfo=UTC)
    assert next_allowed((OFFICE,), NOON) == NOON


def test_the_next_opening_follows_the_zone_over_a_change_of_clocks() -> None:
    window = SyncWindow(kind="allow", schedule="0 9 * * 1", duration="1h", time_zone="Europe/Berlin")
    friday = datetime(2026, 3, 27, 12, tzinfo=UTC)
    assert next_allowed((window,), friday) == datetime(2026, 3, 30, 7, tzinfo=UTC)


def test_a_deny_that_never_ends_has_no_next_opening() -> None:
    always = SyncWindow(kind="deny", schedule="* * * * *", duration="1h")
    assert next_allowed((always,), NOON) is None


def test_starts_in_a_row_close_once() -> None:
    window = SyncWindow(kind="allow", schedule="* 12 * * *", duration="30m")
    assert next_change(window, NOON) == datetime(2026, 3, 11, 13, 29, tzinfo=UTC)


def test_far_ends_of_the_calendar_are_no_error() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    window = SyncWindow(kind="deny", schedule="0 0 * * *", duration="24h", time_zone="Asia/Tokyo")
    for moment in (first, last):
        assert can_sync((window,), moment, manual=False).reason in WindowReason
        next_allowed((window,), moment)


def test_problems_of_a_window() -> None:
    assert window_problem(OFFICE) is None
    assert window_problem(SyncWindow(kind="Allow")) == "kind 'Allow' mismatch: can only be allow or deny"
    missing = SyncWindow(kind="deny", schedule="0 0 * * *", duration="1")
    assert window_problem(missing) == "cannot parse duration '1': time: missing unit in duration \"1\""
    wordy = SyncWindow(kind="deny", schedule="0 0 * * *", duration="1h", description="x" * 256)
    assert window_problem(wordy) == "description must not exceed 255 characters"


def test_twins_are_found_whatever_their_description() -> None:
    twin = SyncWindow(
        kind="allow", schedule="0 9 * * 1-5", duration="8h", applications=("*",), description="again"
    )
    assert "already exists" in (windows_problem((OFFICE, twin)) or "")


_SCHEDULES = st.sampled_from(["0 9 * * 1-5", "*/30 * * * *", "0 0 1 * *", "15 22 * * 6", "* 3 * * *"])
_WINDOWS = st.builds(
    SyncWindow,
    kind=st.sampled_from(["allow", "deny"]),
    schedule=_SCHEDULES,
    duration=st.sampled_from(["10m", "1h", "26h"]),
    manual_sync=st.booleans(),
    time_zone=st.sampled_from(["", "Europe/Berlin", "Asia/Kolkata", "Nope"]),
)


@settings(deadline=None)
@given(st.lists(_WINDOWS, max_size=3), st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)))
def test_the_next_opening_is_one(windows: list[SyncWindow], moment: datetime) -> None:
    now = moment.replace(tzinfo=UTC)
    opening = next_allowed(windows, now)
    if can_sync(windows, now, manual=False).allowed:
        assert opening == now
    elif opening is not None:
        assert opening > now
        assert can_sync(windows, opening + timedelta(microseconds=1), manual=False).allowed


@given(st.text(max_size=30), st.text(max_size=10))
def test_any_text_in_a_window_is_judged(schedule: str, duration: str) -> None:
    window = SyncWindow(kind="deny", schedule=schedule, duration=duration)
    try:
        is_open(window, NOON)
    except BadWindow:
        assert window_problem(window) is not None
    else:
        assert window_problem(window) is None

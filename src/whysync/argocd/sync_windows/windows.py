"""Sync windows: when an AppProject lets its Applications be synced.

Mirrors `SyncWindows` of `pkg/apis/application/v1alpha1/types.go`, Argo CD 3.6. Notable behavior:

- A window is open between its start and its end, both exclusive.
- A time zone is converted to its current offset; an unknown time zone means UTC.
- A schedule that is never due (30 February) is always open: upstream treats "never" as long ago.
- One invalid window blocks all syncs of the Applications that it selects.
- Clusters are compared with the destination text: a window with a URL does not match an app with a cluster
  name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import SyncWindow
from whysync.argocd.projects.permissions import project_glob
from whysync.golang.cron import BadSchedule, Schedule, parse_schedule, time_zone
from whysync.golang.duration import BadDuration, parse_duration

_INSTANT: Final = timedelta(microseconds=1)
_MOST_CHANGES: Final = 300
_MOST_STARTS: Final = 1_500
"""The minutes of a day: a window that restarts this often before it closes never closes."""


class BadWindow(ValueError):
    """An invalid window."""

    def __init__(self, message: str, window: SyncWindow) -> None:
        super().__init__(message)
        self.window = window


class WindowReason(StrEnum):
    """Why a sync is allowed or denied."""

    NO_WINDOWS = "no-windows"
    ALLOW_OPEN = "allow-open"
    DENIES_CLOSED = "denies-closed"
    """There are only deny windows, of which none is open."""
    MANUAL_IN_DENY = "manual-in-deny"
    MANUAL_OUTSIDE_ALLOW = "manual-outside-allow"
    OVERRUN_INTO_DENY = "overrun-into-deny"
    OVERRUN_OUT_OF_ALLOW = "overrun-out-of-allow"
    DENY_OPEN = "deny-open"
    ALLOWS_CLOSED = "allows-closed"
    INVALID = "invalid"

    @property
    def allows(self) -> bool:
        return self not in (WindowReason.DENY_OPEN, WindowReason.ALLOWS_CLOSED, WindowReason.INVALID)


class WindowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """`windows` are the deciding windows, identical to the passed objects."""

    reason: WindowReason
    windows: tuple[SyncWindow, ...] = ()
    error: str = ""

    @property
    def allowed(self) -> bool:
        return self.reason.allows


def matching(windows: Iterable[SyncWindow], app: Application) -> tuple[SyncWindow, ...]:
    """The windows that select an Application. Mirrors `SyncWindows.Matches`."""
    return tuple(window for window in windows if _selects(window, app))


def _selects(window: SyncWindow, app: Application) -> bool:
    """Any of its lists must match; with `andOperator`, each list that is not empty."""
    to = app.spec.destination
    lists = (
        (window.applications, (app.name,)),
        (window.clusters, tuple(cluster for cluster in (to.name, to.server) if cluster)),
        (window.namespaces, (to.namespace,)),
    )
    matches = [
        any(project_glob(pattern, name, negation=False) for pattern in patterns for name in names)
        for patterns, names in lists
        if patterns
    ]
    return bool(matches) and (all(matches) if window.and_operator else any(matches))


def has_known_zone(window: SyncWindow) -> bool:
    """Is the time zone known? If not, Argo CD uses UTC and only logs it."""
    return time_zone(window.time_zone) is not None


def is_open(window: SyncWindow, at: datetime, *, now: datetime | None = None) -> bool:
    """Raises `BadWindow`. `now` determines the offset of the time zone if `at` is in the past."""
    schedule, duration = read_window(window)
    try:
        shifted = at.astimezone(UTC) + _offset(window, now or at)
        start = schedule.next_after(shifted - duration)
    except OverflowError:
        return False  # outside the calendar
    return start is None or start < shifted


def open_windows(
    windows: Iterable[SyncWindow], at: datetime, *, now: datetime | None = None
) -> tuple[SyncWindow, ...]:
    """Mirrors `SyncWindows.Active`; raises `BadWindow` for the first invalid window."""
    return tuple(window for window in windows if is_open(window, at, now=now))


def closed_allows(
    windows: Iterable[SyncWindow], at: datetime, *, now: datetime | None = None
) -> tuple[SyncWindow, ...]:
    """Mirrors `SyncWindows.InactiveAllows`."""
    return tuple(w for w in windows if w.kind == "allow" and not is_open(w, at, now=now))


def of_kind(windows: Iterable[SyncWindow], kind: str) -> tuple[SyncWindow, ...]:
    return tuple(window for window in windows if window.kind == kind)


def all_manual(windows: Sequence[SyncWindow]) -> bool:
    """Do all windows allow manual syncs?"""
    return bool(windows) and all(window.manual_sync for window in windows)


def all_overrun(windows: Sequence[SyncWindow]) -> bool:
    return bool(windows) and all(window.sync_overrun for window in windows)


def can_sync(
    windows: Sequence[SyncWindow], now: datetime, *, manual: bool, started_at: datetime | None = None
) -> WindowVerdict:
    """May a sync run now, and which windows decide? `windows` are those that select the app.

    Mirrors `SyncWindows.CanSync`; `started_at` is the start of a running sync.
    """
    try:
        verdict = _verdict(windows, now, now=now, manual=manual)
        overrun = _OVERRUNS.get(verdict.reason)
        if started_at is None or overrun is None or not all_overrun(verdict.windows):
            return verdict
        if not _verdict(windows, started_at, now=now, manual=manual).allowed:
            return verdict
        return WindowVerdict(reason=overrun, windows=verdict.windows)
    except BadWindow as problem:
        error = f"invalid sync windows: {problem}"
        return WindowVerdict(reason=WindowReason.INVALID, windows=(problem.window,), error=error)


_OVERRUNS: Final = {
    WindowReason.DENY_OPEN: WindowReason.OVERRUN_INTO_DENY,
    WindowReason.ALLOWS_CLOSED: WindowReason.OVERRUN_OUT_OF_ALLOW,
}


def _verdict(windows: Sequence[SyncWindow], at: datetime, *, now: datetime, manual: bool) -> WindowVerdict:
    if not windows:
        return WindowVerdict(reason=WindowReason.NO_WINDOWS)
    open_now = open_windows(windows, at, now=now)
    denies = of_kind(open_now, "deny")
    if denies:
        by_hand = manual and all_manual(denies)
        reason = WindowReason.MANUAL_IN_DENY if by_hand else WindowReason.DENY_OPEN
        return WindowVerdict(reason=reason, windows=denies)
    allows = of_kind(open_now, "allow")
    if allows:
        return WindowVerdict(reason=WindowReason.ALLOW_OPEN, windows=allows)
    closed = closed_allows(windows, at, now=now)
    if closed:
        by_hand = manual and all_manual(closed)
        reason = WindowReason.MANUAL_OUTSIDE_ALLOW if by_hand else WindowReason.ALLOWS_CLOSED
        return WindowVerdict(reason=reason, windows=closed)
    return WindowVerdict(reason=WindowReason.DENIES_CLOSED, windows=tuple(windows))


def next_allowed(windows: Sequence[SyncWindow], now: datetime) -> datetime | None:
    """The next time at which an automatic sync is allowed; `now` if it is already, `None` if there is none.

    Checks each opening or closing of a window, up to some hundreds.
    """
    moment = now.astimezone(UTC)
    verdict = can_sync(windows, moment, manual=False)
    if verdict.reason is WindowReason.INVALID:
        return None
    changes = [next_change(window, moment) for window in windows]
    for _ in range(_MOST_CHANGES):
        if verdict.allowed:
            return moment
        following = min((change for change in changes if change is not None), default=None)
        if following is None or _denied_for_good(windows, changes, verdict):
            return None
        moment = following
        for index, change in enumerate(changes):
            if change is not None and change <= moment:
                changes[index] = next_change(windows[index], moment)
        verdict = can_sync(windows, moment + _INSTANT, manual=False)
    return None


def _denied_for_good(
    windows: Sequence[SyncWindow], changes: Sequence[datetime | None], verdict: WindowVerdict
) -> bool:
    """Is there an open deny window that never closes?"""
    return verdict.reason is WindowReason.DENY_OPEN and any(
        change is None and window in verdict.windows for window, change in zip(windows, changes, strict=True)
    )


def next_change(window: SyncWindow, now: datetime) -> datetime | None:
    """When an open window closes or a closed one opens; `None` if it stays as it is.

    Raises `BadWindow`.
    """
    schedule, duration = read_window(window)
    try:
        after = now.astimezone(UTC) + _INSTANT
        shifted = after + _offset(window, after)
        if not is_open(window, after):
            start = schedule.next_after(shifted)
            change = None if start is None else _unshifted(window, start)
        else:
            change = _closing(window, schedule, duration, shifted)
    except OverflowError:
        return None
    # if the offset changes in between, a boundary may appear to be in the past
    return None if change is None else max(change, after)


def _closing(
    window: SyncWindow, schedule: Schedule, duration: timedelta, shifted: datetime
) -> datetime | None:
    """The closing time; a start before the end extends the window, as with `* 10 * * *`."""
    start = schedule.next_after(shifted - duration)
    for _ in range(_MOST_STARTS):
        if start is None:
            return None
        following = schedule.next_after(start)
        if following is None or following >= start + duration:
            return _unshifted(window, start + duration)
        start = following
    return None


def read_window(window: SyncWindow) -> tuple[Schedule, timedelta]:
    """Raises `BadWindow`."""
    try:
        schedule = parse_schedule(window.schedule)
    except BadSchedule as problem:
        raise BadWindow(f"cannot parse schedule '{window.schedule}': {problem}", window) from None
    try:
        return schedule, parse_duration(window.duration)
    except BadDuration as problem:
        raise BadWindow(f"cannot parse duration '{window.duration}': {problem}", window) from None


def _offset(window: SyncWindow, now: datetime) -> timedelta:
    zone = time_zone(window.time_zone) or UTC
    return now.astimezone(zone).utcoffset() or timedelta()


def _unshifted(window: SyncWindow, shifted: datetime) -> datetime:
    """The instant of a local time, with the offset at that time."""
    guess = shifted - _offset(window, shifted)
    return shifted - _offset(window, guess)

"""Sync windows: when an AppProject lets its Applications be synced.

Mirrors `SyncWindows` of `pkg/apis/application/v1alpha1/types.go`, Argo CD 3.6. What surprises there:

- A window is open between its start and its end, without the two instants themselves.
- A zone counts by its offset at the moment of the question; a zone that nobody knows counts as UTC.
- A schedule that is never due (30 February) is always open: upstream takes "never" for long ago.
- One window that cannot be read blocks all syncs of the Applications that it selects.
- Clusters are compared with the destination as written: a window with a URL misses an app that gives a name.
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
"""As many minutes are a day: a window that starts so often before it closes will not close."""


class BadWindow(ValueError):
    """A window that Argo CD cannot read; `window` says which."""

    def __init__(self, message: str, window: SyncWindow) -> None:
        super().__init__(message)
        self.window = window


class WindowReason(StrEnum):
    """Why a sync may run, or may not."""

    NO_WINDOWS = "no-windows"
    ALLOW_OPEN = "allow-open"
    DENIES_CLOSED = "denies-closed"
    """There are only deny windows, and none is open."""
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
    """`windows` are those that decide: the very objects that were asked about, so that they can be cited."""

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
    """Any of its lists, or with `andOperator` each that has entries, must match."""
    to = app.spec.destination
    lists = (
        (window.applications, (app.name,)),
        (window.clusters, tuple(place for place in (to.name, to.server) if place)),
        (window.namespaces, (to.namespace,)),
    )
    answers = [
        any(project_glob(pattern, name, negation=False) for pattern in patterns for name in names)
        for patterns, names in lists
        if patterns
    ]
    return bool(answers) and (all(answers) if window.and_operator else any(answers))


def has_known_zone(window: SyncWindow) -> bool:
    """If not, Argo CD takes its times for UTC, and only a log says so."""
    return time_zone(window.time_zone) is not None


def is_open(window: SyncWindow, at: datetime, *, now: datetime | None = None) -> bool:
    """Raises `BadWindow`. `now` fixes the offset of the zone where `at` lies in the past."""
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
    """Mirrors `SyncWindows.Active`; the first window that cannot be read raises `BadWindow`."""
    return tuple(window for window in windows if is_open(window, at, now=now))


def closed_allows(
    windows: Iterable[SyncWindow], at: datetime, *, now: datetime | None = None
) -> tuple[SyncWindow, ...]:
    """Mirrors `SyncWindows.InactiveAllows`."""
    return tuple(w for w in windows if w.kind == "allow" and not is_open(w, at, now=now))


def of_kind(windows: Iterable[SyncWindow], kind: str) -> tuple[SyncWindow, ...]:
    return tuple(window for window in windows if window.kind == kind)


def all_manual(windows: Sequence[SyncWindow]) -> bool:
    """One window without `manualSync` is enough to keep people out."""
    return bool(windows) and all(window.manual_sync for window in windows)


def all_overrun(windows: Sequence[SyncWindow]) -> bool:
    return bool(windows) and all(window.sync_overrun for window in windows)


def can_sync(
    windows: Sequence[SyncWindow], now: datetime, *, manual: bool, started_at: datetime | None = None
) -> WindowVerdict:
    """May a sync run now, and which windows say so? `windows` are those that select the app already.

    Mirrors `SyncWindows.CanSync`; `started_at` is when a sync that is already running began.
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


def next_allowed(windows: Sequence[SyncWindow], now: datetime, *, manual: bool) -> datetime | None:
    """The next instant from which a sync may run: `now` if it may already, nothing where none was found.

    Goes from one opening or closing to the next and asks again; some hundreds of them are enough.
    """
    moment = now.astimezone(UTC)
    verdict = can_sync(windows, moment, manual=manual)
    if verdict.reason is WindowReason.INVALID:
        return None
    changes = [next_change(window, moment) for window in windows]
    for _ in range(_MOST_CHANGES):
        if verdict.allowed:
            return moment
        following = min((change for change in changes if change is not None), default=None)
        if following is None or _denied_for_good(windows, changes, verdict, manual=manual):
            return None
        moment = following
        for place, change in enumerate(changes):
            if change is not None and change <= moment:
                changes[place] = next_change(windows[place], moment)
        verdict = can_sync(windows, moment + _INSTANT, manual=manual)
    return None


def _denied_for_good(
    windows: Sequence[SyncWindow],
    changes: Sequence[datetime | None],
    verdict: WindowVerdict,
    *,
    manual: bool,
) -> bool:
    """Is one of the denies that are open now one that never closes, and makes no exception?"""
    return verdict.reason is WindowReason.DENY_OPEN and any(
        change is None and not (manual and window.manual_sync) and window in verdict.windows
        for window, change in zip(windows, changes, strict=True)
    )


def next_change(window: SyncWindow, now: datetime) -> datetime | None:
    """When the window closes if it is open, else when it opens; nothing where it stays as it is.

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
    # where the offset changes on the way, a boundary may seem to lie behind us
    return None if change is None else max(change, after)


def _closing(
    window: SyncWindow, schedule: Schedule, duration: timedelta, shifted: datetime
) -> datetime | None:
    """A start before the end keeps the window open, as with `* 10 * * *`, which starts every minute."""
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
    """Back from the wall clock of the zone, with the offset that holds at that time."""
    guess = shifted - _offset(window, shifted)
    return shifted - _offset(window, guess)

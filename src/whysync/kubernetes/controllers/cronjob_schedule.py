"""The schedules of CronJobs: the five fields that sync windows have too, and short names such as `@daily`.

Mirrors robfig/cron 3.0.1 `ParseStandard`, as Kubernetes 1.36 uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.golang.cron import parse_schedule
from whysync.golang.cron_fields import BadSchedule
from whysync.golang.duration import BadDuration, parse_nanoseconds

_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "


def next_of(schedule: str, zone: str) -> Callable[[datetime], datetime | None]:
    """The first time behind another; raises `BadSchedule`."""
    head, space, rest = (
        schedule.partition(" ") if schedule.startswith(("TZ=", "CRON_TZ=")) else ("", "", schedule)
    )
    rest = rest.strip()
    if rest.startswith(_EVERY):
        step = _every(rest.removeprefix(_EVERY))
        return lambda moment: moment.replace(microsecond=0) + step
    if rest.startswith("@"):
        if rest not in _NAMED:
            raise BadSchedule(f"unrecognized descriptor: {rest}")
        rest = _NAMED[rest]
    lead = f"{head}{space}" if head else f"TZ={zone} " if zone else ""
    parsed = parse_schedule(lead + rest)
    return lambda moment: parsed.next_after(moment.astimezone(UTC))


def _every(text: str) -> timedelta:
    try:
        seconds = parse_nanoseconds(text) // 10**9
    except BadDuration as problem:
        raise BadSchedule(f"failed to parse duration {_EVERY}{text}: {problem}") from None
    return timedelta(seconds=max(seconds, 1))

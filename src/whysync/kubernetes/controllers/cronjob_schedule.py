"""The schedules of CronJobs: the five fields that sync windows have too, and short names such as `@daily`.

Mirrors robfig/cron 3.0.1 `ParseStandard`, as Kubernetes 1.36 uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.golang.cron import parse_schedule
from whysync.golang.cron_fields import BadSchedule

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
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def next_of(schedule: str, zone: str) -> Callable[[datetime], datetime | None]:
    """The first time behind another; raises `BadSchedule`."""
    head, space, rest = (
        schedule.partition(" ") if schedule.startswith(("TZ=", "CRON_TZ=")) else ("", "", schedule)
    )
    rest = rest.strip()
    if rest.startswith(_EVERY):
        step = timedelta(seconds=max(int(_duration(rest.removeprefix(_EVERY))), 1))
        return lambda moment: moment.replace(microsecond=0) + step
    if rest.startswith("@"):
        if rest not in _NAMED:
            raise BadSchedule(f"unrecognized descriptor: {rest}")
        rest = _NAMED[rest]
    lead = f"{head}{space}" if head else f"TZ={zone} " if zone else ""
    parsed = parse_schedule(lead + rest)
    return lambda moment: parsed.next_after(moment.astimezone(UTC))


def _duration(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadSchedule(f'failed to parse duration @every {text}: time: invalid duration "{text}"')
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)

"""Schedules of five fields: minute, hour, day of month, month, day of week.

Mirrors robfig/cron 3.0.1 as Argo CD 3.6 uses it: no seconds, no `@daily`, Sunday is 0 and never 7, `?` is
`*`, and where both kinds of days are restricted, either will do. `TZ=` or `CRON_TZ=` in front names a time
zone. Differs: where the library crashes (`TZ=UTC` alone) this is an error, and where it would search forever
(a calendar day that a zone skipped) the search goes on behind that day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import IntEnum
from functools import lru_cache
from typing import Final

import msgspec

_YEARS: Final = 5
_MOST_STEPS: Final = 20_000
"""Far more than five years of days, or a day of minutes, ever take."""
# Go's idea of white space; Python's has four more characters.
_SPACES: Final = re.compile("[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is a set of bits; `zone` is `None` if the schedule uses the time zone of its argument."""

    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    zone: tzinfo | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        """The first activation behind `moment` (which has a zone), or nothing within five years.

        Mirrors `SpecSchedule.Next`. An hour that a clock skips is skipped; one that it repeats counts twice.
        """
        if not self._can_match():
            return None
        try:
            zone = self.zone or moment.tzinfo or UTC
            activation = _search_utc(self, moment) if zone is UTC else _search(self, moment, zone)
        except (OverflowError, ValueError):
            return None  # the calendar ends with the year 9999
        return None if activation is None else activation.astimezone(moment.tzinfo)

    def _can_match(self) -> bool:
        """A field of commas alone is empty, and matches nothing."""
        has_star = (self.days | self.weekdays) & EVERY
        days = self.days and self.weekdays if has_star else self.days or self.weekdays
        return bool(self.minutes and self.hours and self.months and days)

    def matches_day(self, day: date) -> bool:
        of_month = bool(self.days >> day.day & 1)
        of_week = bool(self.weekdays >> day.isoweekday() % 7 & 1)
        if (self.days | self.weekdays) & EVERY:
            return of_month and of_week
        return of_month or of_week


@lru_cache(maxsize=1024)
def parse_schedule(text: str) -> Schedule:
    """Raises `BadSchedule`. Mirrors `Parser.Parse` for the five standard fields."""
    if not text:
        raise BadSchedule("empty spec string")
    zone: tzinfo | None = None
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, space, rest = text.partition(" ")
        if not space:
            raise BadSchedule(f"expected exactly 5 fields, found 0: [] (after {head})")
        zone = _zone(head.partition("=")[2])
        text = _SPACES.sub(" ", rest).strip(" ")
    if text.startswith("@"):
        raise BadSchedule(f"parser does not accept descriptors: {text}")
    fields = [field for field in _SPACES.split(text) if field]
    if len(fields) != len(FIELDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = map(field_bits, fields, FIELDS)
    return Schedule(minutes=minutes, hours=hours, days=days, months=months, weekdays=weekdays, zone=zone)


@lru_cache(maxsize=256)
def time_zone(name: str) -> tzinfo | None:
    """The zone of an IANA name; `None` if it is unknown. Mirrors Go's `LoadLocation`."""
    if name in ("", "UTC"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _zone(name: str) -> tzinfo | None:
    if name == "Local":
        return None
    zone = time_zone(name)
    if zone is None:
        raise BadSchedule(f"provided bad location {name}: unknown time zone {name}")
    return zone


def _search_utc(schedule: Schedule, moment: datetime) -> datetime | None:
    """A faster search for UTC, where clocks never change; sync windows use it."""
    start = moment.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    last_year = start.year + _YEARS
    start += timedelta(seconds=-start.second % 60)
    day, hour, minute = start.date(), start.hour, start.minute
    while day.year <= last_year:
        if not schedule.months >> day.month & 1:
            day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
        else:
            if schedule.matches_day(day):
                time_of_day = _time_of_day(schedule, hour, minute)
                if time_of_day is not None:
                    return datetime.combine(day, time_of_day, UTC)
            day += timedelta(days=1)
        hour = minute = 0
    return None


def _time_of_day(schedule: Schedule, hour: int, minute: int) -> time | None:
    """The first time of day that matches from then on."""
    due = _next_bit(schedule.hours, hour)
    if due == hour:
        at = _next_bit(schedule.minutes, minute)
        if at is not None:
            return time(hour, at)
        due = _next_bit(schedule.hours, hour + 1)
    at = _next_bit(schedule.minutes, 0)
    return None if due is None or at is None else time(due, at)


def _next_bit(bits: int, least: int) -> int | None:
    rest = (bits & ~EVERY) >> least << least
    return (rest & -rest).bit_length() - 1 if rest else None


def _search(schedule: Schedule, moment: datetime, zone: tzinfo) -> datetime | None:
    """Upstream's search: field by field from the largest, and all over again when one wraps around to zero.

    A clock that jumps over that zero is not noticed, so larger fields are not looked at again: mirrored here
    by keeping the field in hand. `instant` is UTC, where adding meets no gap; `local` is the clock.
    """
    instant = moment.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    local = instant.astimezone(zone)
    last_year = local.year + _YEARS
    fresh = True  # nothing was added yet, so the smaller fields still have to be set to zero
    field = _Unit.MONTH
    for _ in range(_MOST_STEPS):
        if local.year > last_year:
            return None
        if _fits(schedule, local, field):
            if field is _Unit.SECOND:
                return instant
            field = _Unit(field + 1)
            continue
        match field:
            case _Unit.MONTH:
                month = local.year * 12 + local.month  # counted from zero, it is the next one
                instant = _instant(datetime(month // 12, month % 12 + 1, 1), zone)
            case _Unit.DAY:
                instant = _next_day(local, zone, fresh=fresh)
            case _Unit.HOUR:
                if fresh:
                    instant = _instant(datetime(local.year, local.month, local.day, local.hour), zone)
                instant += timedelta(hours=1)
            case _Unit.MINUTE | _Unit.SECOND:
                instant += timedelta(seconds=60 - local.second)
        fresh = False
        local = instant.astimezone(zone)
        wrapped = (local.month == 1, local.day == 1, local.hour == 0, local.minute == 0, True)
        if wrapped[field]:
            field = _Unit.MONTH
    return None


class _Unit(IntEnum):
    MONTH = 0
    DAY = 1
    HOUR = 2
    MINUTE = 3
    SECOND = 4


def _fits(schedule: Schedule, local: datetime, field: _Unit) -> bool:
    match field:
        case _Unit.MONTH:
            return bool(schedule.months >> local.month & 1)
        case _Unit.DAY:
            return schedule.matches_day(local)
        case _Unit.HOUR:
            return bool(schedule.hours >> local.hour & 1)
        case _Unit.MINUTE:
            return bool(schedule.minutes >> local.minute & 1)
        case _Unit.SECOND:
            return local.second == 0


def _next_day(local: datetime, zone: tzinfo, *, fresh: bool) -> datetime:
    """Midnight of the next day, or the first time of that day if clocks change at midnight."""
    previous = local.astimezone(UTC)
    if fresh:
        local = _instant(datetime(local.year, local.month, local.day), zone).astimezone(zone)
    midnight = local.replace(tzinfo=None) + timedelta(days=1)
    instant = _instant(midnight, zone)
    hour = instant.astimezone(zone).hour
    if hour > 12:
        instant += timedelta(hours=24 - hour)
    elif hour:
        instant -= timedelta(hours=hour)
    # A day that a time zone skipped results in the day before.
    return instant if instant > previous else previous + timedelta(days=1)


def _instant(wall: datetime, zone: tzinfo) -> datetime:
    """The instant at which a clock shows this. Mirrors Go's `time.Date`, which in a gap picks either side."""
    as_utc = wall.replace(tzinfo=UTC)
    offset = _offset(as_utc, zone)
    return as_utc - _offset(as_utc - offset, zone) if offset else as_utc


def _offset(instant: datetime, zone: tzinfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


EVERY: Final = 1 << 63
"""Set in the bits of a field that has a `*`: then the days of month and week must both match."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MONTHS: Final = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_WEEKDAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}


class BadSchedule(ValueError):
    """The schedule cannot be read; the text is the library's."""


class Field(msgspec.Struct, frozen=True):
    least: int
    most: int
    names: Mapping[str, int]


FIELDS: Final = (
    Field(0, 59, {}),
    Field(0, 23, {}),
    Field(1, 31, {}),
    Field(1, 12, _MONTHS),
    Field(0, 6, _WEEKDAYS),
)


def field_bits(text: str, field: Field) -> int:
    bits = 0
    for part in text.split(","):
        if part:
            bits |= _range_bits(part, field)
    return bits


def _range_bits(text: str, field: Field) -> int:
    """`5`, `1-5`, `*`, each with `/2` behind it or not; `5/2` runs to the end of the field."""
    span, *steps = text.split("/")
    low, *high = span.split("-")
    every = 0
    if low in ("*", "?"):
        start, end, every = field.least, field.most, EVERY
    else:
        start = end = _number_or_name(low, field.names)
        if len(high) > 1:
            raise BadSchedule(f"too many hyphens: {text}")
        if high:
            end = _number_or_name(high[0], field.names)
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        end = end if high else field.most
        every = every if step <= 1 else 0
    elif steps:
        raise BadSchedule(f"too many slashes: {text}")
    if start < field.least:
        raise BadSchedule(f"beginning of range ({start}) below minimum ({field.least}): {text}")
    if end > field.most:
        raise BadSchedule(f"end of range ({end}) above maximum ({field.most}): {text}")
    if start > end:
        raise BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")
    return sum(1 << value for value in range(start, end + 1, step)) | every


def _number_or_name(text: str, names: Mapping[str, int]) -> int:
    number = names.get(text.lower())
    return _number(text) if number is None else number


def _number(text: str) -> int:
    prefix = f'failed to parse int from {text}: strconv.Atoi: parsing "{text}"'
    if not _NUMBER.fullmatch(text):
        raise BadSchedule(f"{prefix}: invalid syntax")
    # int() itself refuses thousands of digits, whatever their value
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) * (-1 if text.startswith("-") else 1) if len(digits) < 20 else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise BadSchedule(f"{prefix}: value out of range")
    if value < 0:
        raise BadSchedule(f"negative number ({value}) not allowed: {text}")
    return value

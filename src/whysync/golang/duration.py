"""Go durations: `1h30m`, `-2.5s`, `100ms`, with the errors of `time.ParseDuration`."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000,
}  # fmt: skip
_UNITS_AND_DAYS: Final = {**_UNITS, "d": 24 * _UNITS["h"]}
_MOST: Final = (1 << 63) - 1
_MOST_DIGITS: Final = 40
_PART: Final = re.compile(r"0*([0-9]*)(\.[0-9]*)?([^0-9.]*)", re.ASCII)


class BadDuration(ValueError):
    """The text is Go's."""


def parse_duration(text: str) -> timedelta:
    """Mirrors Go's `time.ParseDuration`; parts of a microsecond are cut off. Raises `BadDuration`."""
    total = parse_nanoseconds(text)
    return timedelta(microseconds=-(-total // 1000) if total < 0 else total // 1000)


def parse_nanoseconds(text: str, *, days: bool = False) -> int:
    """Mirrors Go's `time.ParseDuration`; `days` allows `d` too, as Argo CD does. Raises `BadDuration`."""
    units = _UNITS_AND_DAYS if days else _UNITS
    invalid = BadDuration(f'time: invalid duration "{text}"')
    position = 1 if text.startswith(("+", "-")) else 0
    if text[position:] == "0":
        return 0
    if position == len(text):
        raise invalid
    total = 0
    while position < len(text):
        component = _PART.match(text, position)
        assert component is not None  # any text starts with such a part, if with an empty one
        integer, fraction, unit = component[1], (component[2] or "")[1:], component[3]
        has_digits = bool(fraction) or text[position].isdecimal()
        if not has_digits or len(integer) > _MOST_DIGITS:
            raise invalid
        if not unit:
            raise BadDuration(f'time: missing unit in duration "{text}"')
        if unit not in units:
            raise BadDuration(f'time: unknown unit "{unit}" in duration "{text}"')
        fraction = fraction[:_MOST_DIGITS]  # what follows is far below a nanosecond
        number = int(integer or "0") + Fraction(int(fraction or "0"), 10 ** len(fraction))
        total += int(number * units[unit])
        if total > _MOST:
            raise invalid
        position = component.end()
    return -total if text.startswith("-") else total


def seconds_text(seconds: float) -> str:
    """A number of seconds as Go prints a `time.Duration`, exact to the microsecond."""
    return nanoseconds_text(round(seconds * 1_000_000) * 1000)


def nanoseconds_text(total: int) -> str:
    """Mirrors `time.Duration.String`: `10s`, `1m20s`, `5m0s`, `1.5s`, `500ms`, `0s`."""
    if total < 0:
        return f"-{nanoseconds_text(-total)}"
    for unit in ("ns", "µs", "ms"):
        if 0 < total < 1000 * _UNITS[unit]:
            return f"{_decimal(total, _UNITS[unit])}{unit}"
    minutes, rest = divmod(total, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, _UNITS['s'])}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(total: int, size: int) -> str:
    integer, rest = divmod(total, size)
    return str(integer) if not rest else f"{integer}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}"

"""Durations as Go reads them: `1h30m`, `-2.5s`, `100ms`; the refusals too."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000,
}  # fmt: skip
_MOST: Final = (1 << 63) - 1
_MOST_DIGITS: Final = 40
_PART: Final = re.compile(r"0*([0-9]*)(\.[0-9]*)?([^0-9.]*)", re.ASCII)


class BadDuration(ValueError):
    """The text is Go's."""


def parse_duration(text: str) -> timedelta:
    """Mirrors Go's `time.ParseDuration`; parts of a microsecond are cut off. Raises `BadDuration`."""
    bad = BadDuration(f'time: invalid duration "{text}"')
    place = 1 if text.startswith(("+", "-")) else 0
    if text[place:] == "0":
        return timedelta()
    if place == len(text):
        raise bad
    total = 0
    while place < len(text):
        part = _PART.match(text, place)
        assert part is not None  # any text starts with such a part, if with an empty one
        whole, fraction, unit = part[1], (part[2] or "")[1:], part[3]
        has_digits = bool(fraction) or text[place].isdecimal()
        if not has_digits or len(whole) > _MOST_DIGITS:
            raise bad
        if not unit:
            raise BadDuration(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise BadDuration(f'time: unknown unit "{unit}" in duration "{text}"')
        fraction = fraction[:_MOST_DIGITS]  # what follows is far below a nanosecond
        number = int(whole or "0") + Fraction(int(fraction or "0"), 10 ** len(fraction))
        total += int(number * _UNITS[unit])
        if total > _MOST:
            raise bad
        place = part.end()
    microseconds = total // 1000
    return timedelta(microseconds=-microseconds if text.startswith("-") else microseconds)

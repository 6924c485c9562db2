"""One field of a schedule: `5`, `1-5`, `*/15`, `mon,wed`, as a set of bits.

Mirrors `getField` and `getRange` of robfig/cron 3.0.1, with its complaints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

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
    named = names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    told = f'failed to parse int from {text}: strconv.Atoi: parsing "{text}"'
    if not _NUMBER.fullmatch(text):
        raise BadSchedule(f"{told}: invalid syntax")
    # int() itself refuses thousands of digits, whatever their value
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) * (-1 if text.startswith("-") else 1) if len(digits) < 20 else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise BadSchedule(f"{told}: value out of range")
    if value < 0:
        raise BadSchedule(f"negative number ({value}) not allowed: {text}")
    return value

"""What Go says of a text that is no time. Mirrors the errors of `time.Parse` for the two layouts in use."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
_PARTS: Final = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"), ("15", r"\d\d"),
    (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d"),
)  # fmt: skip
_LARGEST: Final = {"01": 12, "02": 31, "15": 23, "04": 59, "05": 59}
_NAMES: Final = {"01": "month", "02": "day", "15": "hour", "04": "minute", "05": "second"}


def time_problem(text: str, *, micro: bool) -> str:
    layout = _MICRO if micro else _SECONDS
    said = f'parsing time "{text}"'
    rest = text
    for part, form in _PARTS:
        found = re.match(form, rest)
        if found is None:
            return f'{said} as "{layout}": cannot parse "{rest}" as "{part}"'
        if part in _LARGEST and int(found[0]) > _LARGEST[part]:
            return f"{said}: {_NAMES[part]} out of range"
        rest = rest[found.end() :]
    fraction = re.match(r"\.\d{6}(?!\d)" if micro else r"(?:[.,]\d+)?", rest)
    if fraction is None:
        return f'{said} as "{layout}": cannot parse "{rest}" as ".000000"'
    rest = rest[fraction.end() :]
    zone = re.match(r"Z|[+-]\d\d:\d\d", rest)
    if zone is None:
        return f'{said} as "{layout}": cannot parse "{rest}" as "Z07:00"'
    if rest[zone.end() :]:
        return f'{said}: extra text: "{rest[zone.end() :]}"'
    return f"{said}: day out of range"

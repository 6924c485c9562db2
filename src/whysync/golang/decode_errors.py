"""Go errors of decoding: `encoding/json` and `time.Parse`."""

from __future__ import annotations

import json
import re
from typing import Final

from whysync.json_tree import Json, json_kind

_LITERALS = {"t": "true", "f": "false", "n": "null"}
_ENDS = "unexpected end of JSON input"


def json_object_error(data: bytes) -> str:
    """The error, or nothing for an object (and for null, which Go takes for an empty one)."""
    source = data.decode("utf-8", "replace")
    try:
        decoded: Json = json.loads(source)
    except RecursionError:
        return "exceeded max depth"
    except ValueError:
        return _syntax_error(source)
    if decoded is None or isinstance(decoded, dict):
        return ""
    return f"json: cannot unmarshal {json_kind(decoded)} into Go value of type map[string]interface {{}}"


def _syntax_error(source: str) -> str:
    start = source.lstrip(" \t\r\n")
    if not start:
        return _ENDS
    first = start[0]
    if first in _LITERALS:
        return _literal_error(start, _LITERALS[first])
    if first not in '{["-0123456789':
        return f"invalid character {_character(first)} looking for beginning of value"
    if first == "{":
        members = start[1:].lstrip(" \t\r\n")
        if not members:
            return _ENDS
        if members[0] not in '"}':
            return f"invalid character {_character(members[0])} looking for beginning of object key string"
    return _structure_error(source)


def _literal_error(start: str, literal: str) -> str:
    for index, expected in enumerate(literal):
        if index >= len(start):
            return _ENDS
        if start[index] != expected:
            context = f"in literal {literal} (expecting {_character(expected)})"
            return f"invalid character {_character(start[index])} {context}"
    rest = start[len(literal) :].lstrip(" \t\r\n")
    return f"invalid character {_character(rest[0])} after top-level value" if rest else _ENDS


def _structure_error(source: str) -> str:
    try:
        json.loads(source)
    except json.JSONDecodeError as problem:
        rest = source[problem.pos :].lstrip(" \t\r\n")
        if not rest or "Unterminated" in problem.msg:
            return _ENDS
        context = {
            "Expecting ',' delimiter": "after object key:value pair",
            "Expecting ':' delimiter": "after object key",
            "Extra data": "after top-level value",
            "Expecting value": "looking for beginning of value",
        }.get(problem.msg, "looking for beginning of object key string")
        return f"invalid character {_character(rest[0])} {context}"
    except (ValueError, RecursionError):
        pass
    return _ENDS


def _character(character: str) -> str:
    special = {"'": r"'\''", '"': "'\"'", "\\": r"'\\'", "\n": r"'\n'", "\t": r"'\t'", "\r": r"'\r'"}
    return special.get(character, f"'{character}'")


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
    prefix = f'parsing time "{text}"'
    rest = text
    for part, form in _PARTS:
        match = re.match(form, rest)
        if match is None:
            return f'{prefix} as "{layout}": cannot parse "{rest}" as "{part}"'
        if part in _LARGEST and int(match[0]) > _LARGEST[part]:
            return f"{prefix}: {_NAMES[part]} out of range"
        rest = rest[match.end() :]
    fraction = re.match(r"\.\d{6}(?!\d)" if micro else r"(?:[.,]\d+)?", rest)
    if fraction is None:
        return f'{prefix} as "{layout}": cannot parse "{rest}" as ".000000"'
    rest = rest[fraction.end() :]
    zone = re.match(r"Z|[+-]\d\d:\d\d", rest)
    if zone is None:
        return f'{prefix} as "{layout}": cannot parse "{rest}" as "Z07:00"'
    if rest[zone.end() :]:
        return f'{prefix}: extra text: "{rest[zone.end() :]}"'
    return f"{prefix}: day out of range"

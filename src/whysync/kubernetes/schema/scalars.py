"""Scalars with a written form of their own: times, durations, numbers, bytes, int-or-string.

Each function gives the form in which Go would write the value back, or raises `NotOfType`.
"""

from __future__ import annotations

import binascii
import re
from datetime import UTC, datetime
from typing import Final

from whysync.golang.duration import BadDuration, nanoseconds_text, parse_nanoseconds
from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, Object
from whysync.kubernetes.schema import Struct, Type

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d?:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)")
_PLAIN_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MASK: Final = re.compile(r"<[a-z]+(?: \d+)?>|\+{8,}")  # Argo CD masks with plus signs
_INT32: Final = (-(2**31), 2**31 - 1)


class NotOfType(Exception):
    """A value that does not fit the Go type of its field."""


def is_mask(value: str) -> bool:
    """Is the text a placeholder of a masked value, such as `<masked 3>` or `++++++++`?"""
    return value.startswith(("<", "+")) and _MASK.fullmatch(value) is not None


def number_text(value: float) -> str:
    """A number as Go's JSON encoder writes it."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def as_integer(value: Json, bounds: tuple[int, int]) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not bounds[0] <= value <= bounds[1]:
        raise NotOfType
    return value


def as_quantity(value: Json) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise NotOfType
    try:
        return canonical_quantity(value if isinstance(value, str) else number_text(value))
    except BadQuantity:
        raise NotOfType from None


def as_int_or_string(value: Json) -> int | str:
    return value if isinstance(value, str) else as_integer(value, _INT32)


def as_bytes(value: Json) -> str:
    """Base64, written back without line ends. Placeholders of masked values are not decoded."""
    if not isinstance(value, str):
        raise NotOfType
    if is_mask(value):
        return value
    plain = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
    try:
        decoded = binascii.a2b_base64(plain, strict_mode=True)
    except (ValueError, binascii.Error):
        raise NotOfType from None
    if len(plain) % 4:
        raise NotOfType
    # Upstream writes the decoded bytes again, which drops stray bits behind the last byte.
    return plain if not plain.endswith("=") else binascii.b2a_base64(decoded, newline=False).decode()


def as_time(value: Json, *, micro: bool = False) -> str | None:
    """RFC 3339 in UTC, whole seconds (or six places); the zero time is written as null."""
    if not isinstance(value, str):
        raise NotOfType
    if not micro and _PLAIN_TIME.fullmatch(value):
        _moment(value)
        return None if value == "0001-01-01T00:00:00Z" else value
    if not _TIME.fullmatch(value):
        if is_mask(value):
            return value
        raise NotOfType
    moment = _moment(value)
    if moment == datetime(1, 1, 1, tzinfo=UTC):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment.microsecond:06d}Z" if micro else "Z")


def _moment(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value.replace(",", ".")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotOfType from None


def as_duration(value: Json) -> str:
    """Go's `time.Duration` text: `90s` → `1m30s`."""
    if not isinstance(value, str) or len(value) > 100:
        raise NotOfType
    try:
        return nanoseconds_text(parse_nanoseconds(value))
    except BadDuration:
        raise NotOfType from None


# The zero values of Go types, which a decoder writes for null and for absent fields.


def zero(kind: Type) -> Json:
    """The value that Go writes for null."""
    if kind.pointer or kind.kind in {"list", "map", "bytes", "raw", "time", "microtime"}:
        return None
    match kind.kind:
        case "string":
            return ""
        case "bool":
            return False
        case "quantity":
            return "0"
        case "duration":
            raise NotOfType
        case "struct":
            return _zero_struct(kind.struct)
        case _:
            return 0


def _zero_struct(struct: Struct) -> Object:
    return {
        name: "0s" if field.type.kind == "duration" and not field.type.pointer else zero(field.type)
        for name, field in struct.fields.items()
        if not field.omit_zero and not (field.omit_empty and _goes_when_zero(field.type))
    }


def _goes_when_zero(kind: Type) -> bool:
    return kind.pointer or kind.kind in {"string", "bool", "int", "float", "list", "map", "bytes"}

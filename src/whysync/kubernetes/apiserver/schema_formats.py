"""Formats of strings in the schemas of custom resources.

Mirrors kube-openapi `validation/strfmt` with govalidator, Kubernetes 1.36.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from whysync.golang.duration import BadDuration, parse_nanoseconds

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)
_DURATION_PART: Final = re.compile(r"\d+\s*([A-Za-zµ]+)", re.ASCII)
_DURATION_UNITS: Final = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
_DURATION_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_LETTER: Final = r"[^\W_]"
_HOST_LABEL: Final = rf"(?:{_LETTER}|[$+<=>^`|~])"
_HOST: Final = re.compile(
    rf"{_HOST_LABEL}(?:-?{_HOST_LABEL}{{0,62}})?"
    rf"|(?:{_HOST_LABEL}(?:(?:{_HOST_LABEL}|-){{0,61}}{_HOST_LABEL})?\.)+[^\W\d_]{{2,63}}"
)
_MAC: Final = re.compile(
    r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)|(?:[0-9a-f]{4}\.)+[0-9a-f]{4}", re.IGNORECASE
)
_MAC_DIGITS: Final = frozenset({12, 16, 40})
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SEPARATORS: Final = re.compile(r"[\s-]+", re.ASCII)
_CARD: Final = re.compile(
    r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|(?:2131|1800|35\d{3})\d{11}",
    re.ASCII,
)
_COLOR: Final = r"\s*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_NAME: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return value.startswith("0000-") and _is_date(f"2000{value[4:]}")
    return True


def _is_date_time(value: str) -> bool:
    day, _, rest = value.lower().partition("t")
    found = _TIME.fullmatch(rest.partition("t")[0])
    return found is not None and _is_date(day) and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(value: str) -> bool:
    """A Go duration, or a number with a unit: `22 ns`, `3 days`."""
    try:
        parse_nanoseconds(value)
    except BadDuration:
        units = [part[1].lower() for part in _DURATION_PART.finditer(value)]
        return any(unit in _DURATION_UNITS or unit.startswith(_DURATION_PREFIXES) for unit in units)
    return True


def _without_leading_zeros(value: str) -> str:
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=\d)", "", value) if "." in value else value


def _is_address(value: str, mark: str) -> bool:
    try:
        ipaddress.ip_address(_without_leading_zeros(value))
    except ValueError:
        return False
    return mark in value


def _is_cidr(value: str) -> bool:
    address, slash, size = value.partition("/")
    if not slash or not size.isascii() or not size.isdigit():
        return False
    try:
        ipaddress.ip_network(f"{_without_leading_zeros(address)}/{size}", strict=False)
    except ValueError:
        return False
    return True


def _is_mac(value: str) -> bool:
    return _MAC.fullmatch(value) is not None and len(re.sub(r"[:.-]", "", value)) in _MAC_DIGITS


def _is_uri(value: str) -> bool:
    """Mirrors `url.ParseRequestURI`: a URL with a scheme, or an absolute path."""
    if any(character < " " or character == "\x7f" for character in value) or _BAD_ESCAPE.search(value):
        return False
    scheme = _SCHEME.match(value)
    rest = value[scheme.end() :] if scheme else value
    if value == "*" or (scheme and not rest.startswith("/")):
        return True
    if not rest.startswith("/"):
        return False
    if not scheme and not rest.startswith("//"):
        return True
    authority = re.split(r"[/?]", rest[2:], maxsplit=1)[0] if rest.startswith("//") else ""
    host = authority.rpartition("@")[2]
    port = host.rpartition("]")[2] if host.startswith("[") else host
    return " " not in authority and re.fullmatch(r"[^:]*(?::\d*)?", port) is not None


def _is_email(value: str) -> bool:
    """Roughly `mail.ParseAddress`: an address, or a name with an address in angle brackets."""
    inner = re.fullmatch(r"[^<>]*<([^<>]*)>", value.strip())
    local, _, domain = (inner[1] if inner else value.strip()).rpartition("@")
    return bool(local and domain) and not re.search(r"[\s<>@,;:]|^\.|\.$|\.\.", f"{local}.{domain}")


def _is_host(value: str) -> bool:
    return (
        len(value.encode("utf-8", "replace")) <= 255
        and all(len(part.encode("utf-8", "replace")) <= 63 for part in value.split("."))
        and _HOST.fullmatch(value) is not None
    )


def _is_base64(value: str) -> bool:
    try:
        b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(value)


def _is_isbn10(value: str) -> bool:
    number = _SEPARATORS.sub("", value)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", number):
        return False
    digits = (10 if digit == "X" else int(digit) for digit in number)
    return sum(place * digit for place, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(value: str) -> bool:
    number = _SEPARATORS.sub("", value)
    if not re.fullmatch(r"[0-9]{13}", number):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(number)) % 10 == 0


def _is_card(value: str) -> bool:
    """The number of a credit card, with its check digit (Luhn)."""
    number = _SEPARATORS.sub("", value)
    if not _CARD.fullmatch(number):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _pattern(pattern: str, max_length: int = 1 << 30) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: len(value) <= max_length and compiled.fullmatch(value) is not None


def _uuid(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    end = rf"-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
    return _pattern(rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}{end}")


STRING_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern(r"[0-9a-fA-F]{24}"),
    "byte": _is_base64,
    "cidr": _is_cidr,
    "creditcard": _is_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "date-time": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_host,
    "ipv4": lambda value: _is_address(value, "."),
    "ipv6": lambda value: _is_address(value, ":"),
    "isbn": lambda value: _is_isbn10(value) or _is_isbn13(value),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8s-long-name": _pattern(rf"{_NAME}(?:\.{_NAME})*", 253),
    "k8s-short-name": _pattern(_NAME, 63),
    "mac": _is_mac,
    "password": lambda _: True,
    "rgbcolor": _pattern(rf"rgb\({_COLOR},{_COLOR},{_COLOR}\)"),
    "ssn": _pattern(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "uri": _is_uri,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}

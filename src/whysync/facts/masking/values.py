"""Classify a value: a reference, a name, a plain setting, or something generated."""

from __future__ import annotations

import re
from typing import Final

from whysync.lazy_pattern import lazy_pattern

_REFERENCE = lazy_pattern(
    r"\$\{[^}]*\}|\$\{\{[^}]*\}\}|\$\([^)]*\)|\{\{.*\}\}|<path:[^>]*>|<[A-Za-z][\w .-]*>|ref\+\w+:.*|vault:.*"
    r"|\$\w[\w.:-]*:[\w.-]+|\$[A-Za-z]+(?:[.-][A-Za-z]+)+|\$[A-Z_]+",
    re.DOTALL,
)
_NO_VALUE: Final = frozenset(
    ("", "true", "false", "null", "none", "nil", "~", "yes", "no", "on", "off", "<nil>")
)
_NAMELIKE = lazy_pattern(r"[A-Za-z][A-Za-z_./-]*|[a-z0-9](?:[-a-z0-9./]*[a-z0-9])?")
_SEGMENTS = lazy_pattern(r"[^A-Za-z0-9]+")
# Runs of one kind of character: a generated value has many short ones, words have few long ones.
_RUN = lazy_pattern(r"[A-Z]++(?![a-z])|[A-Z]?[a-z]++|[A-Z]|[0-9]++")
_PLAIN = lazy_pattern(
    r"[a-z][a-z0-9+.-]{0,30}://[^\s@]*"  # an address without credentials
    r"|(?:[./~]|[A-Za-z]:\\)\S*"  # a path
    r"|[\d.,:+TZ/_-]+[A-Za-z%]{0,3}"  # a number, a quantity, a time, an address
    r"|v?\d+(?:\.\d+)+[\w.+-]*"  # a version
    r"|(?:[a-z0-9_-]++\.)+[a-z]{2,10}(?::\d+)?(?:/[\w./-]*)?"  # a host
    r"|[^\s@]++@(?:[\w-]++\.)+[a-z]{2,10}"  # an e-mail address
)
_GENERATED_LENGTH: Final = 12
_LARGEST: Final = 4096


def is_literal_value(value: str) -> bool:
    return value.lower() not in _NO_VALUE if len(value) < 8 else True


def is_reference(value: str) -> bool:
    return value[:1] in "$<{rv" and _REFERENCE.fullmatch(value) is not None


def is_generated(segment: str) -> bool:
    """Letters and digits in an order that words do not have: `a8f9e7c6b5d4`, `kJhGfDsAqWeR`."""
    runs = len(_RUN.findall(segment[:_LARGEST]))
    return runs > 2 and min(len(segment), _LARGEST) < 3 * runs


def is_namelike(value: str) -> bool:
    """A name as used in Kubernetes. A generated part longer than a Pod's suffix is not part of a name."""
    if len(value) > 253 or not _NAMELIKE.fullmatch(value):
        return False
    return not has_generated_part(value)


def has_generated_part(value: str) -> bool:
    return any(len(part) >= _GENERATED_LENGTH and is_generated(part) for part in _SEGMENTS.split(value))


def looks_secret(value: str) -> bool:
    """Neither a name nor a usual setting: what a password or key looks like without other hints."""
    if len(value) < 6 or is_namelike(value):
        return False
    if any(letter.isspace() for letter in value.strip()[:_LARGEST]):
        return False
    return _PLAIN.fullmatch(value[:_LARGEST]) is None


def split_literal(value: str) -> tuple[str, str]:
    """Split `key=value`; base64 padding is not a separator."""
    lead, equals, literal = value.partition("=")
    return (f"{lead}=", literal) if equals and literal.strip("=") else ("", value)

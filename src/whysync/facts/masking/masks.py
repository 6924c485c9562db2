"""Masks for secret values: equal values get equal masks, and a mask reveals nothing else.

A mask is a number per run, `<masked 3>`: no hash that could be attacked with guesses, no length.
"""

from __future__ import annotations

import base64
import binascii
import re

# Go's JSON encoder escapes the brackets.
_MASK_IN_FILE = re.compile(rb"(<|\\u003c)masked (\d{1,9})(>|\\u003e)")
_IS_MASK = re.compile(r"<masked \d{1,9}>|\+{8,}")


def is_mask(value: str) -> bool:
    """Is it a mask of ours, or of Argo CD, which writes plus signs, a different number for each value?"""
    return _IS_MASK.fullmatch(value) is not None


class Masks:
    """The masks of one run."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._highest = 0
        self._offset = 0

    def mark(self, value: bytes) -> str:
        number = self._numbers.get(value)
        if number is None:
            self._highest += 1
            number = self._numbers[value] = self._highest
        return f"<masked {number}>"

    def next_input(self) -> None:
        """Another bundle has its own numbering: its `<masked 1>` is not the one seen before."""
        self._offset = self._highest

    def renumbered(self, data: bytes) -> bytes:
        """The file with its masks renumbered to avoid those already in use."""
        if b"masked " not in data:
            return data
        offset = self._offset

        def move(match: re.Match[bytes]) -> bytes:
            number = int(match[2]) + offset
            self._highest = max(self._highest, number)
            return b"%smasked %d%s" % (match[1], number, match[3])

        return _MASK_IN_FILE.sub(move, data)


def from_base64(value: str) -> bytes | None:
    """The bytes of a Secret's `data` value, or `None` if it is not base64."""
    encoded = "".join(value.split())
    if len(encoded) % 4:
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None

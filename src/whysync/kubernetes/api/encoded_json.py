"""Read the texts of encoded JSON without decoding it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

# A fraction, an exponent, or 19 digits, which may be beyond int64.
_UNUSUAL_NUMBER = re.compile(rb"[0-9][.eE]|[0-9]{19}")
_ONE_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


def split_texts(encoded: bytes) -> list[bytes]:
    """Encoded JSON, split at its quotation marks: every second part is a key or a text; `decoded` reads it.

    Two control characters, which JSON does not contain, stand for an escaped backslash and quotation mark.
    """
    return _with_marks(encoded).split(b'"')


def _with_marks(encoded: bytes) -> bytes:
    if b"\\" not in encoded:
        return encoded
    return encoded.replace(rb"\\", b"\x01").replace(rb"\"", b"\x02")


def with_digits_alike(encoded: bytes) -> bytes:
    """The JSON with `0` for every digit: the objects of a fleet then have nearly the same texts.

    It is unchanged if a text has digits in an escape.
    """
    return encoded if rb"\u" in encoded else encoded.translate(_ONE_DIGIT)


def texts_like(alike: Iterable[bytes], encoded: bytes) -> set[bytes]:
    """The texts of encoded JSON that are one of these, apart from their digits."""
    patterns = (re.escape(escaped(text)).replace(b"0", b"[0-9]") for text in alike)
    found: list[bytes] = re.findall(rb'"(?=(%b)")' % b"|".join(sorted(patterns)), encoded)
    return {_with_marks(text) for text in found}


def texts_in(encoded: bytes) -> set[bytes]:
    """The keys and texts of encoded JSON."""
    return set(split_texts(encoded)[1::2])


def escaped(text: bytes) -> bytes:
    """A text of `split_texts` as it is in the JSON."""
    return text.replace(b"\x02", rb"\"").replace(b"\x01", rb"\\")


def decoded(text: bytes) -> str:
    if b"\\" not in text and b"\x01" not in text and b"\x02" not in text:
        return text.decode()
    return msgspec.json.decode(b'"%b"' % escaped(text), type=str)


def has_plain_numbers(structure: list[bytes]) -> bool:
    """Are all numbers integers that certainly fit into int64? `structure` is what is between the texts.

    Nearly all parts are equal to others, so each is searched once.
    """
    return _UNUSUAL_NUMBER.search(b",".join(set(structure))) is None


def is_flat(structure: bytes, limit: int) -> bool:
    """Is JSON with this structure certainly not nested deeper than `limit`?

    Each replacement removes one level.
    """
    brackets = structure.translate(None, _NO_BRACKETS)
    for _ in range(limit // 2):
        if not brackets:
            return True
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return not brackets

"""Read the texts of encoded JSON without decoding it."""

from __future__ import annotations

import msgspec


def split_texts(encoded: bytes) -> list[bytes]:
    """Encoded JSON, split at its quotation marks: every second part is a key or a text; `decoded` reads it.

    Two control characters, which JSON does not contain, stand for an escaped backslash and quotation mark.
    """
    if b"\\" in encoded:
        encoded = encoded.replace(rb"\\", b"\x01").replace(rb"\"", b"\x02")
    return encoded.split(b'"')


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

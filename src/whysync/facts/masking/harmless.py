"""Prove by its texts alone that an object contains nothing to mask, without a walk through its tree.

Whether the masker changes a value depends on the texts of the object: on keys and names that indicate a
secret, on kinds, and on the values. A text is harmless if it leads to no mask wherever it is: as a key, a
kind, a name, an argument, a file or a message. An object in which all texts are harmless has nothing to mask;
any other object is walked through. The objects of a fleet repeat the same few texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from whysync.facts.masking import commands, text_patterns
from whysync.facts.masking.secret_names import (
    Secrecy,
    may_indicate_secret,
    secrecy_below,
    secrecy_of_path,
)
from whysync.facts.masking.secret_producers import SECRET_PRODUCERS
from whysync.json_tree import Object, fields

# Numbers, addresses, digests, uids and times: no name of a secret consists of these letters.
_PLAIN = re.compile(rb"(?:[0-9a-f.:][0-9a-f.:-]*)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
# Because of these, other values of the same map or list may be secret.
_LEADING: Final = frozenset(("helm", "patch", "stringData", "Fake", "login"))
_MOST_TEXTS: Final = 50_000
_LONGEST: Final = 200
"""Texts with more bytes are seldom repeated, and not remembered."""
_encode = msgspec.json.Encoder().encode


def texts_in(encoded: bytes) -> set[bytes]:
    """The keys and texts of encoded JSON; `decoded` reads them.

    Two control characters, which JSON does not contain, stand for an escaped backslash and quotation mark.
    """
    if b"\\" in encoded:
        encoded = encoded.replace(rb"\\", b"\x01").replace(rb"\"", b"\x02")
    return set(encoded.split(b'"')[1::2])


def decoded(text: bytes) -> str:
    if b"\\" not in text and b"\x01" not in text and b"\x02" not in text:
        return text.decode()
    escaped = text.replace(b"\x02", rb"\"").replace(b"\x01", rb"\\")
    return msgspec.json.decode(b'"%b"' % escaped, type=str)


class KnownTexts:
    """Texts that passed a check, so that each is checked once; only the last ones are remembered."""

    def __init__(self, check: Callable[[str], bool]) -> None:
        self._check = check
        self._passed: set[bytes] = set()

    def forget(self) -> None:
        self._passed.clear()

    def pass_all(self, encoded: bytes) -> bool:
        return next(self.failing(texts_in(encoded)), None) is None

    def failing(self, texts: set[bytes]) -> Iterator[bytes]:
        passed = self._passed
        for text in texts - passed:
            if not self._check(decoded(text)):
                yield text
            elif len(text) <= _LONGEST:
                passed.add(text)
        if len(passed) > _MOST_TEXTS:
            passed.clear()


def without_managed_fields(body: Object, encoded: bytes) -> bytes:
    """Managed fields contain only names of fields, which are never masked by their format."""
    managed = fields(body.get("metadata")).get("managedFields")
    return encoded.replace(_encode(managed), b"[]", 1) if isinstance(managed, list) and managed else encoded


class HarmlessTexts(KnownTexts):
    """Texts that lead to no mask, wherever they are in an object."""

    def __init__(self) -> None:
        super().__init__(self._is_harmless)
        self._quiet: set[str] = set()

    def forget(self) -> None:
        super().forget()
        self._quiet.clear()

    def failing(self, texts: set[bytes]) -> Iterator[bytes]:
        new = texts - self._passed
        return super().failing({text for text in new if not _PLAIN.fullmatch(text)}) if new else iter(())

    def _is_harmless(self, text: str) -> bool:
        if text in _LEADING or text.endswith(SECRET_PRODUCERS) or text_patterns.contains_secret(text):
            return False
        if text[:1] == "-" and (text[:2] != "--" or text in commands.USER_AND_PASSWORD):
            return False
        if self._is_quiet(text) and not text[:1000].rstrip("./[]").endswith("value"):  # `env.3.value`
            return True
        if secrecy_of_path(text) is not Secrecy.NONE or secrecy_below(text) is not Secrecy.NONE:
            return False
        if "\n" in text or text[:1] in "{[":  # perhaps a file
            return not text_patterns.is_suspect(text)
        return text_patterns.masked(text, _mark) == text

    def _is_quiet(self, text: str) -> bool:
        """Does the text contain no syntax of a secret, and no word that indicates one?

        Nothing that is searched for has a quotation mark inside, so an object in JSON, such as the last
        applied configuration, is searched text by text.
        """
        if text[:1] != "{":
            return _quiet(text)
        pieces = set(text.split('"')) - self._quiet
        if not all(_quiet(f'"{piece}"') for piece in pieces):
            return False
        self._quiet |= {piece for piece in pieces if len(piece) <= _LONGEST}
        if len(self._quiet) > _MOST_TEXTS:
            self._quiet.clear()
        return True


def _quiet(text: str) -> bool:
    return not text_patterns.is_suspect(text) and not may_indicate_secret(text)


def _mark(_: str) -> str:
    return "<masked>"

"""Prove by its texts alone that an object contains nothing to mask, without a walk through its tree.

Whether the masker changes a value depends on the texts of the object: on keys and names that indicate a
secret, on kinds, and on the values. A text is harmless if it leads to no mask wherever it is: as a key, a
kind, a name, an argument, a file or a message. An object in which all texts are harmless has nothing to mask;
any other object is walked through. The objects of a fleet repeat the same few texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from whysync.facts.masking import commands, text_patterns
from whysync.facts.masking.secret_names import (
    INDICATORS,
    PAT,
    Secrecy,
    may_indicate_secret,
    secrecy_below,
    secrecy_of_path,
)
from whysync.facts.masking.secret_producers import SECRET_PRODUCERS
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.encoded_json import decoded, texts_in, texts_like

# Numbers, addresses, digests, uids and times: no name of a secret consists of these letters.
_PLAIN = re.compile(rb"(?:[0-9a-f.:][0-9a-f.:-]*)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
# Because of these, other values of the same map or list may be secret.
_LEADING: Final = frozenset(("helm", "patch", "stringData", "Fake", "login"))
# A flag, or JSON, whose texts are searched one by one.
_NEEDS_A_LOOK: Final = ("-", "{")
_SEPARATOR: Final = b"\0"
_MOST_TEXTS: Final = 50_000
_MOST_SUSPECTS: Final = 200
_LONGEST: Final = 200
"""Texts with more bytes are seldom repeated, and not remembered."""
_encode = msgspec.json.Encoder().encode


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
        self._quiet_alike: set[bytes] = set()

    def forget(self) -> None:
        super().forget()
        self._quiet.clear()
        self._quiet_alike.clear()

    def failing_in(self, alike: set[bytes], files: Iterable[bytes]) -> list[bytes] | None:
        """The failing texts in files of JSON; `None` if too many texts have to be looked at.

        `alike` are the texts with all digits alike, which the first look does not distinguish.
        """
        new = [text for text in alike - self._quiet_alike if not _PLAIN.fullmatch(text)]
        if not new:
            return []
        suspects = self._suspects(new)
        self._quiet_alike.update([text for text in new if len(text) <= _LONGEST and text not in suspects])
        if len(self._quiet_alike) > _MOST_TEXTS:
            self._quiet_alike.clear()
        if len(suspects) > _MOST_SUSPECTS:
            return None
        texts = {text for text in suspects if b"0" not in text}
        if with_digits := suspects - texts:
            texts.update(*(texts_like(with_digits, data) for data in files))
        return list(self.failing(texts))

    def failing(self, texts: set[bytes]) -> Iterator[bytes]:
        new = [text for text in texts - self._passed if not _PLAIN.fullmatch(text)]
        if not new:
            return iter(())
        suspects = self._suspects(new)
        self._passed.update([text for text in new if len(text) <= _LONGEST and text not in suspects])
        return super().failing(suspects)

    def _suspects(self, texts: list[bytes]) -> set[bytes]:
        """The texts that have to be looked at one by one.

        All are searched as one text, because most of the time of a search is spent on its start.
        """
        plain = _decoded_together(texts)
        if plain is None:
            return set(texts)
        suspects = {
            at
            for at, text in enumerate(plain)
            if text[:1] in _NEEDS_A_LOOK or text in _LEADING or _ends_with_value(text)
        }
        suspects |= _loud([text if at not in suspects else "" for at, text in enumerate(plain)])
        encoded = [at for at in suspects if plain[at][:1] == "{"]
        pieces = list(set(chain.from_iterable([plain[at].split('"') for at in encoded])) - self._quiet)
        loud = _loud([f'"{piece}"' for piece in pieces])
        self._remember_quiet([piece for at, piece in enumerate(pieces) if at not in loud])
        if not loud:
            suspects.difference_update([at for at in encoded if not _ends_with_value(plain[at])])
        return {texts[at] for at in suspects}

    def _is_harmless(self, text: str) -> bool:
        if text in _LEADING or text.endswith(SECRET_PRODUCERS) or text_patterns.contains_secret(text):
            return False
        if text[:1] == "-" and (text[:2] != "--" or text in commands.USER_AND_PASSWORD):
            return False
        if self._is_quiet(text) and not _ends_with_value(text):
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
        self._remember_quiet(pieces)
        return True

    def _remember_quiet(self, pieces: Iterable[str]) -> None:
        if len(self._quiet) > _MOST_TEXTS:
            self._quiet.clear()
        self._quiet.update([piece for piece in pieces if len(piece) <= _LONGEST])


def _decoded_together(texts: list[bytes]) -> list[str] | None:
    """The decoded texts; `None` if one of them contains the separator."""
    together = _SEPARATOR.join(texts)
    if b"\\" in together or b"\x01" in together or b"\x02" in together:
        plain = decoded(together.replace(_SEPARATOR, rb"\u0000")).split("\0")
    else:
        plain = together.decode().split("\0")
    return plain if len(plain) == len(texts) else None


def _ends_with_value(text: str) -> bool:
    """As in `env.3.value`."""
    return text[:1000].rstrip("./[]").endswith("value")


def _quiet(text: str) -> bool:
    return not text_patterns.is_suspect(text) and not may_indicate_secret(text)


def _loud(texts: list[str]) -> set[int]:
    """The positions of the texts that are not quiet."""
    together = "\0".join(texts)
    lower = together.lower()
    found = set(_found(PAT, together))
    for pattern in (*text_patterns.SUSPECT, INDICATORS):
        found.update(_found(pattern, lower))
    return found


def _found(pattern: re.Pattern[str], together: str) -> Iterator[int]:
    """The numbers of the texts that the pattern matches in."""
    position = number = 0
    while match := pattern.search(together, position):
        number += together.count("\0", position, match.start())
        yield number
        position = together.find("\0", match.end()) + 1
        number += 1
        if not position:
            return


def _mark(_: str) -> str:
    return "<masked>"

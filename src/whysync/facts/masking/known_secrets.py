"""Find known secret values in other places: in a log line, an error message, a URL.

Some values are not searched for, because names and messages must stay readable: values shorter than eight
characters, lower-case words, capitalized words, numbers of fewer than 16 digits, dates, and public names.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from whysync.facts.masking.values import is_generated
from whysync.lazy_pattern import lazy_pattern

SHORTEST: Final = 8
_LONG_WORD: Final = 20
_LONG_NUMBER: Final = 16
_WINDOW: Final = 1 << 16
_SEPARATORS = lazy_pattern(r"[\s:/@?&=,;.\"'{}()\[\]|<>]+")
# Words, numbers, and names of cloud regions, which are common in Secrets: us-east-1, eu-central-1b.
_PLAIN = lazy_pattern(r"[A-Za-z]+|[0-9]+|[a-z]{2}-(?:[a-z]+-){1,2}[0-9][a-z]?")
_NUMBERS = lazy_pattern(r"[0-9.,:+TZ/ _-]+")
# A message about a variable by its index: a known value is masked however short it is.
_REFUSED = lazy_pattern(
    r"(?P<lead>\.value: (?:Invalid|Unsupported|Duplicate) value: \\{0,7}\")(?P<value>[^\"\\]+)"
)


class KnownSecrets:
    """Values and their masks, found anywhere in a text.

    Indexed by the first eight characters, so that the cost does not grow with the number of secrets.
    """

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._value_of: dict[str, str] = {}
        self._starts: dict[str, list[str]] = {}

        self._all: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, value: str, mark: str) -> None:
        """Also adds its JSON, URL and base64 encodings."""
        self._all[value] = mark
        if value in self._marks or len(value) < SHORTEST:
            return
        if _NUMBERS.fullmatch(value) and not (value.isdecimal() and len(value) >= _LONG_NUMBER):
            return
        encoded = value.encode("utf-8", "surrogatepass")
        forms = {
            value,
            value.strip(),
            json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
            quote(encoded, safe=""),
            base64.b64encode(encoded).decode().rstrip("="),
        }
        for form in forms:
            if len(form) >= SHORTEST and form not in self._marks:
                self._marks[form] = mark
                self._value_of[form] = value
                self._starts.setdefault(form[:SHORTEST], []).append(form)

    def forget_names(self, names: Iterable[str]) -> None:
        """Remove values that are public names, parts of one, or plain words; they are not secret."""
        public = set(names)
        public_values: set[str] = set()
        for name in public:
            public_values.update(self._value_of[form] for form in self._all_in(name))
        value_of = {
            form: value
            for form, value in self._value_of.items()
            if value not in public_values and not _is_plain(value, public)
        }
        self._value_of = value_of
        self._marks = {form: self._marks[form] for form in value_of}
        self._starts = {}
        for form in value_of:
            self._starts.setdefault(form[:SHORTEST], []).append(form)
        for forms in self._starts.values():
            forms.sort(key=len, reverse=True)

    def _all_in(self, name: str) -> Iterable[str]:
        for at in range(len(name) - SHORTEST + 1):
            for form in self._starts.get(name[at : at + SHORTEST], ()):
                if name.startswith(form, at):
                    yield form

    def masked(self, text: str) -> str:
        if ".value: " in text:
            text = _REFUSED.sub(self._refused, text)
        length = len(text)
        starts = self._starts
        if length < SHORTEST or not starts:
            return text
        if length <= _WINDOW and starts.keys().isdisjoint(
            [text[at : at + SHORTEST] for at in range(length - SHORTEST + 1)]
        ):
            return text
        chunks: list[str] = []
        end = 0
        for at, value in self._occurrences(text):
            if at < end:
                continue
            chunks += (text[end:at], self._marks[value])
            end = at + len(value)
        return "".join([*chunks, text[end:]]) if end else text

    def _refused(self, match: re.Match[str]) -> str:
        mark = self._all.get(match["value"])
        return match[0] if mark is None else f"{match['lead']}{mark}"

    def _occurrences(self, text: str) -> Iterable[tuple[int, str]]:
        starts = self._starts
        at, last = 0, len(text) - SHORTEST
        while at <= last:
            candidates = starts.get(text[at : at + SHORTEST])
            if candidates is not None:
                for value in candidates:
                    if text.startswith(value, at):
                        yield at, value
                        break
            at += 1


def _is_plain(value: str, public: set[str]) -> bool:
    """Only words, numbers and public names, as in any message. A passphrase of four words is not plain."""
    parts = [part for part in _SEPARATORS.split(value) if part]
    if len(value) >= _LONG_WORD and len(value.split(" ")) >= 4 and value.replace(" ", "").isalpha():
        return False
    return all(_is_plain_part(part) or part in public for part in parts)


def _is_plain_part(part: str) -> bool:
    if not _PLAIN.fullmatch(part):
        return False
    if part.isdecimal():
        return len(part) < _LONG_NUMBER
    return not (
        len(part) >= SHORTEST and (is_generated(part) or (len(part) >= _LONG_WORD and part.isalpha()))
    )

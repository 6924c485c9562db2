"""Remove the credentials of a client, such as its token, from messages and errors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MARK = "<masked>"
# A shorter value is only removed as a whole word: "dev", but not in "device".
_LONG = 8
_SHORTEST = 3


def hidden(words: str, secrets: Iterable[str]) -> str:
    """Also removes JSON, URL and base64 encodings of the values."""
    forms = {form for value in secrets if len(value) >= _SHORTEST for form in _forms(value)}
    if not words or not forms:
        return words
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re.sub("|".join(map(_pattern, ordered)), MARK, words)


def _forms(value: str) -> Iterable[str]:
    encoded = value.encode("utf-8", "surrogatepass")
    yield from (value, json.dumps(value)[1:-1], quote(encoded, safe=""), " ".join(value.split()) or value)
    yield base64.b64encode(encoded).decode().rstrip("=")


def _pattern(form: str) -> str:
    return re.escape(form) if len(form) >= _LONG else rf"(?<!\w){re.escape(form)}(?!\w)"

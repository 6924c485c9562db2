"""Known secret values, such as our own token, taken out of a message whatever they look like."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MARK = "<masked>"
# A shorter value is hidden only where it is a word of its own: "dev" is, inside of "device" it is not.
_LONG = 8
_SHORTEST = 3


def hidden(words: str, secrets: Iterable[str]) -> str:
    """Also in the forms that values take inside JSON, URLs and base64."""
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

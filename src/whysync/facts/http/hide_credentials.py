"""Remove the credentials of a client, such as its token, from messages and errors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MARK = "<masked>"
# A shorter value is only removed as a whole word: "dev", but not in "device".
_LONG_VALUE = 8
_SHORTEST = 3


def hide_credentials(message: str, secrets: Iterable[str]) -> str:
    """Also removes JSON, URL and base64 encodings of the values."""
    encodings = {encoding for value in secrets if len(value) >= _SHORTEST for encoding in _encodings(value)}
    if not message or not encodings:
        return message
    ordered = sorted(encodings, key=lambda encoding: (-len(encoding), encoding))
    return re.sub("|".join(map(_pattern, ordered)), MARK, message)


def _encodings(value: str) -> Iterable[str]:
    data = value.encode("utf-8", "surrogatepass")
    yield from (value, json.dumps(value)[1:-1], quote(data, safe=""), " ".join(value.split()) or value)
    yield base64.b64encode(data).decode().rstrip("=")


def _pattern(encoding: str) -> str:
    return re.escape(encoding) if len(encoding) >= _LONG_VALUE else rf"(?<!\w){re.escape(encoding)}(?!\w)"

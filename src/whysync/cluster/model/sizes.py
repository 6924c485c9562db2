"""How large a request, and an object in the store, may be."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.contracts.tree import Json, Object

_LARGEST_OBJECT: Final = 3 * 2**19
LARGEST_REQUEST: Final = 3 * 2**20


def too_large(obj: Object) -> bool:
    return _longest(obj) > 2**16 and len(msgspec.json.encode(obj)) > _LARGEST_OBJECT


def oversized(body: Json) -> bool:
    return _longest(body) > 2**16 and len(msgspec.json.encode(body)) > LARGEST_REQUEST


def _longest(value: Json) -> int:
    """The longest text in a tree: only where one is long, the whole is worth measuring."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max((_longest(item) for item in value.values()), default=0)
    return max((_longest(item) for item in value), default=0) if isinstance(value, list) else 0

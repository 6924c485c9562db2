"""How large a request, and an object in the store, may be."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Json, Object

_LARGEST_OBJECT: Final = 3 * 2**19
LARGEST_REQUEST: Final = 3 * 2**20


def too_large(obj: Object) -> bool:
    return _size(obj) > _LARGEST_OBJECT


def oversized(body: Json) -> bool:
    return body is not None and _size(body) > LARGEST_REQUEST


def _size(value: Json) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, OverflowError):  # what cannot be written as JSON is refused where it stands
        return 0

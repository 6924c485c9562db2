"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from whysync.json_tree import Json, Object, copy


def merged(before: Json, patch: Json) -> Json:
    """`before` with `patch` applied; `null` removes a field."""
    if not isinstance(patch, dict):
        return copy(patch)
    after: Object = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = merged(after.get(key), value)
    return after

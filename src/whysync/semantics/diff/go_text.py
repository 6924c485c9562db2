"""Values as Go prints them in error texts."""

from __future__ import annotations

from whysync.contracts.tree import Json


def go_text(value: Json) -> str:
    """Go's `%v`: `map[name:c ports:[80]]`, `true`, `<nil>`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(item)}" for key, item in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    return "<nil>" if value is None else str(value)

"""Values as Go prints them in error texts."""

from __future__ import annotations

import json

from whysync.json_tree import Json


def go_text(value: Json) -> str:
    """Go's `%v`: `map[name:c ports:[80]]`, `true`, `<nil>`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(item)}" for key, item in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_text(item) for item in value) + "]"
    return "<nil>" if value is None else str(value)


def go_syntax(value: Json) -> str:
    """Go's `%#v`: `map[string]interface {}{"a":[]interface {}{"b", 5}}`, `interface {}(nil)`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(key)}:{go_syntax(item)}" for key, item in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if isinstance(value, str):
        return _quoted(value)
    return "interface {}(nil)" if value is None else go_text(value)


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)

"""Write a value as YAML lines or as inline text, in the style of the surrounding text."""

from __future__ import annotations

import json
import re

from whysync.json_tree import Json
from whysync.kubernetes.api.yaml import dump

# Valid in JSON, but not in YAML, or interpreted by terminals.
_NEVER_RAW = "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"


def block_lines(value: Json, *, hang: bool) -> list[str]:
    """Block style from column 0. `hang`: lists are indented below their key."""
    if isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in entry_lines(key, item, hang=hang)]
    if isinstance(value, list) and value:
        return [line for item in value for line in item_lines(item, hang=hang)]
    return _lines(value)


def entry_lines(key: str, value: Json, *, hang: bool) -> list[str]:
    """`key: value`, with the lines that follow."""
    if not _is_block(value):
        return _lines({key: value})
    head = dump({key: {}}).removesuffix(" {}\n")
    indent = "" if isinstance(value, list) and not hang else "  "
    return [head, *indented(block_lines(value, hang=hang), indent)]


def item_lines(value: Json, *, hang: bool) -> list[str]:
    """`- value`, with the lines that follow."""
    if not _is_block(value):
        return _lines([value])
    first, *rest = block_lines(value, hang=hang)
    return [f"- {first}", *indented(rest, "  ")]


def indented(lines: list[str], indent: str) -> list[str]:
    return [f"{indent}{line}" if line else "" for line in lines]


def _is_block(value: Json) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _lines(value: Json) -> list[str]:
    return dump(value).removesuffix("\n").split("\n")


def scalar_text(value: Json, *, like: str, indent: str) -> str:
    """A scalar or an empty collection after `key: `, quoted like the previous value (`like`).

    `indent` is the indentation of lines that would follow.
    """
    if isinstance(value, str) and like in ("'", '"') and value.isprintable():
        if like == "'":
            return "'" + value.replace("'", "''") + "'"
        return flow_text(value)
    first, *rest = _lines({"k": value})
    # `dump` indents the lines of a literal by two blanks.
    return "\n".join([first.removeprefix("k: "), *(f"{indent}{line[2:]}" if line else "" for line in rest)])


def flow_text(value: Json, *, indent: str | None = None) -> str:
    """JSON, which is also flow style; with `indent`, on several lines."""
    text = json.dumps(value, ensure_ascii=False, indent=None if indent is None else 2)
    text = re.sub(_NEVER_RAW, lambda match: _escaped(match[0]), text)
    return text if indent is None else text.replace("\n", f"\n{indent}")


def _escaped(char: str) -> str:
    """Escape half a surrogate pair, which is not a character and which no parser accepts."""
    return "\\ufffd" if "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04x}"

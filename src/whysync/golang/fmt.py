"""Values as Go prints them: `%v`, `%#v`, `%q` and `encoding/json`."""

from __future__ import annotations

import json

import msgspec

from whysync.json_tree import Json, Missing, Object

_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip
# encoding/json keeps its output safe inside HTML.
_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


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
        inner = ", ".join(f"{quoted(key)}:{go_syntax(item)}" for key, item in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if isinstance(value, str):
        return quoted(value)
    return "interface {}(nil)" if value is None else go_text(value)


def go_type(value: Json) -> str:
    """Go's `%T` of a decoded JSON value."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"


def quoted(text: str) -> str:
    """Go's `strconv.Quote`."""
    if text.isalnum() and text.isascii():
        return f'"{text}"'
    return f'"{"".join(map(_quoted_character, text))}"'


def printed(value: Json) -> str:
    return quoted(value) if isinstance(value, str) else go_json(value)


def go_json(value: Json, indent: int | None = None) -> str:
    """`json.Marshal`; the order of the keys is the caller's business (Go sorts maps, not structs)."""
    try:
        separators = (",", ":") if indent is None else (",", ": ")
        text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)
    except RecursionError:
        return "<too deep to print>"
    return text.translate(_HTML)


def sorted_json(value: Json) -> str:
    """`json.Marshal` of maps: keys sorted."""
    return msgspec.json.encode(value, order="sorted").decode().translate(_HTML)


def go_map(value: Json | Missing) -> Json:
    """A map with its keys sorted as Go prints them; nothing at all is null."""
    if not isinstance(value, dict):
        return None
    ordered: Object = {key: value[key] for key in sorted(value)}
    return ordered


def _quoted_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

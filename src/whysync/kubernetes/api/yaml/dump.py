"""Write JSON values as clean block-style YAML that Kubernetes reads back as the same values."""

from __future__ import annotations

import json
import math
import re

from whysync.json_tree import Json
from whysync.kubernetes.api.yaml.scalars import HINTS, plain
from whysync.unsafe_text import CI_MARK, escaped, has_ci_command, is_safe

# Characters without a special meaning anywhere in a plain scalar.
_SAFE = re.compile(r"[A-Za-z0-9_/.$(\\+~][A-Za-z0-9_/.$()\\+~@%^*=;<>|!?&'\"{}\[\],:# -]*")
_RISKY = re.compile(r": |:\Z| #|[ ]\Z")
_FLOW = re.compile(r"[\[\]{},]")


def dump(value: Json) -> str:
    """One document. Keys keep their order; text is quoted only where it would be read otherwise."""
    lines: list[str] = []
    _write(value, 0, "", lines)
    return "\n".join(lines) + "\n"


def _write(value: Json, depth: int, lead: str, lines: list[str]) -> None:
    """`lead` is the text before the value on its first line: `key:`, `-`, or nothing."""
    if isinstance(value, dict) and value:
        _write_mapping(value, depth, lead, lines)
    elif isinstance(value, list) and value:
        _write_list(value, depth, lead, lines)
    else:
        lines.append(f"{lead} {_scalar(value, depth)}" if lead else _scalar(value, 0))


def _write_mapping(value: dict[str, Json], depth: int, lead: str, lines: list[str]) -> None:
    pad = "  " * depth
    if lead.endswith(":"):
        lines.append(lead)
        lead = ""
    for key, item in value.items():
        first = f"{lead} " if lead else pad  # the first key of a list item stands beside its dash
        lead = ""
        _write(item, depth + 1, f"{first}{_key(key)}:", lines)


def _write_list(value: list[Json], depth: int, lead: str, lines: list[str]) -> None:
    if lead.endswith(":"):
        lines.append(lead)
        lead = ""
        depth -= 1  # a list stands under its key without further indentation, as kubectl writes it
    pad = "  " * depth
    for item in value:
        first = f"{lead} " if lead else pad
        lead = ""
        _write(item, depth + 1, f"{first}-", lines)


def _key(key: str) -> str:
    """Keys on one line, and quoted where in doubt; `<<` would be a merge key."""
    return key if _is_plain(key) and len(key) < 120 else _quoted(key)


def _scalar(value: Json, depth: int) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                raise ValueError("JSON has no such number")
            return repr(value)
        case str():
            return _text(value, depth)
        case dict():
            return "{}"
        case list():
            return "[]"


def _text(value: str, depth: int) -> str:
    if _is_plain(value):
        return value
    if "\n" in value and depth and _fits_block(value):
        return _literal(value, "  " * depth)
    return _quoted(value)


def _is_plain(value: str) -> bool:
    if not _SAFE.fullmatch(value) or _RISKY.search(value) or _FLOW.search(value):
        return False
    if value[0] in HINTS and plain(value) != value:
        return False
    return not value.startswith(("...", "- ", "? ")) and value != "="


def _fits_block(value: str) -> bool:
    """A literal block has no escapes; a line that starts with blanks asks for quotes."""
    return value[0] not in "\n " and all(map(is_safe, value.split("\n"))) and not has_ci_command(value)


def _literal(value: str, pad: str) -> str:
    if not value.endswith("\n"):
        mark, body = "|-", value
    elif value.endswith("\n\n"):
        mark, body = "|+", value[:-1]
    else:
        mark, body = "|", value[:-1]
    return "\n".join([mark, *(f"{pad}{line}" if line else "" for line in body.split("\n"))])


def _quoted(value: str) -> str:
    if is_safe(value) and "'" not in value and not CI_MARK.search(value):
        return f"'{value}'"
    # JSON's escapes are YAML's too.
    written = escaped(json.dumps(value, ensure_ascii=False), long=True)
    return CI_MARK.sub(r"\\u0023", written)

"""Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf` for the values of templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from whysync.golang.fmt import quoted
from whysync.golang.template.errors import NotEvaluated
from whysync.golang.template.values import NO_VALUE, NoValue, Value, text_of, type_name

_VERB: Final = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>\d{0,4})(?:\.(?P<precision>\d{0,3}))?(?P<verb>.?)", re.DOTALL
)


def sprint(values: Sequence[Value]) -> str:
    """Adds spaces between operands when neither is a string."""
    parts: list[str] = []
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(values[number - 1], str):
            parts.append(" ")
        parts.append(_plain(value))
    return "".join(parts)


def sprintln(values: Sequence[Value]) -> str:
    return " ".join(map(_plain, values)) + "\n"


def _plain(value: Value) -> str:
    return "<nil>" if value is NO_VALUE else text_of(value)


def sprintf(format: str, values: Sequence[Value]) -> str:
    used = 0
    parts: list[str] = []
    at = 0
    for verb in _VERB.finditer(format):
        parts.append(format[at : verb.start()])
        at = verb.end()
        letter = verb["verb"]
        if letter == "%":
            parts.append("%")
        elif not letter:
            parts.append("%!(NOVERB)")
        elif letter in "*[":
            raise NotEvaluated(f"a template uses the format {format!r}")
        elif used >= len(values):
            parts.append(f"%!{letter}(MISSING)")
        else:
            parts.append(_formatted(verb, values[used]))
            used += 1
    parts.append(format[at:])
    if used < len(values):
        extra = ", ".join(
            "<nil>" if value is None or value is NO_VALUE else f"{type_name(value)}={text_of(value)}"
            for value in values[used:]
        )
        parts.append(f"%!(EXTRA {extra})")
    return "".join(parts)


def _formatted(verb: re.Match[str], value: Value) -> str:
    flags, letter = verb["flags"], verb["verb"]
    width = int(verb["width"] or 0)
    precision = None if verb["precision"] is None else int(verb["precision"] or 0)
    text = _verb_text(letter, flags, precision, value)
    zero = "0" in flags and "-" not in flags and letter != "v" and not isinstance(value, str)
    if zero and isinstance(value, int | float) and text[:1] in ("-", "+"):
        return text[0] + text[1:].rjust(width - 1, "0")
    if zero:
        return text.rjust(width, "0")
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _verb_text(letter: str, flags: str, precision: int | None, value: Value) -> str:
    if "#" in flags or isinstance(value, list | dict):
        if letter not in "vs" or "#" in flags or (letter == "s" and not _only_strings(value)):
            raise NotEvaluated(f"a template formats a {type_name(value)} with %{flags}{letter}")
        return text_of(value)
    sign = "+" if "+" in flags else " " if " " in flags else ""
    match letter, value:
        case _, None | NoValue():
            return "<nil>" if letter == "v" else f"%!{letter}(<nil>)"
        case "v", _:
            return (
                f"{value:+d}"
                if sign == "+" and type(value) is not bool and isinstance(value, int)
                else text_of(value)
            )
        case "t", bool():
            return text_of(value)
        case (("s" | "q" | "x" | "X"), str()):
            cut = value if precision is None else value[:precision]
            if letter == "q":
                return quoted(cut)
            if letter == "s":
                return cut
            written = cut.encode().hex()
            return written.upper() if letter == "X" else written
        case (("d" | "x" | "X" | "o" | "b"), int()) if not isinstance(value, bool):
            return (
                f"{int(value):{sign}{letter}}"
                if precision is None
                else _padded(int(value), sign, letter, precision)
            )
        case "c", int() if not isinstance(value, bool):
            return chr(value)
        case (("f" | "F" | "e" | "E"), float()):
            number = f"{value:{sign}.{6 if precision is None else precision}{letter.lower()}}"
            return number.upper() if letter == "E" else number
        case "g", float() if precision is None:
            return text_of(value)
        case _:
            return f"%!{letter}({type_name(value)}={text_of(value)})"


def _padded(number: int, sign: str, letter: str, precision: int) -> str:
    digits = f"{abs(number):{letter}}".rjust(precision, "0")
    return ("-" if number < 0 else sign) + digits


def _only_strings(value: Value) -> bool:
    if isinstance(value, dict):
        return all(map(_only_strings, value.values()))
    return all(map(_only_strings, value)) if isinstance(value, list) else isinstance(value, str)

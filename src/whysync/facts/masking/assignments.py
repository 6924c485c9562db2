"""Secret values assigned to names in text: `password=x`, `"token": "x"`, `<password>x</password>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from whysync.facts.masking.secret_names import Secrecy, is_literal, is_password, secrecy_of
from whysync.facts.masking.values import has_generated_part, is_generated, is_reference, looks_secret
from whysync.lazy_pattern import lazy_pattern

_LETTER_AND_MORE = lazy_pattern(r"(?=.*[A-Za-z])(?=.*[0-9!@#$%^&*+=~?])")
# name=value, name: value, name:value, name := value, "name": "value"; quotes have backslashes in nested JSON.
_ASSIGNMENT = lazy_pattern(
    r"(?P<dashes>(?<![A-Za-z0-9_.-])-{0,2})(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,100}+)(?P<close>\\{0,15}[\"'])?\]?"
    r"(?P<sep>[ \t]{0,4}+(?::=|=>|=(?!=)|:(?!//))[ \t]{0,4}+)(?P<open>\\{0,15}[\"'`])?"
)
_BARE = lazy_pattern(r"[^\s\"'<>,;&|`]+")
_BARE_IN_STRUCT = lazy_pattern(r"[^\s\"'<>,;&|`}\])]+")
_MAX_VALUE: Final = 2_000
_IN_LIST = lazy_pattern(r"[\[,]\s{0,4}(?P<open>\\{0,15}[\"'])")
_ELEMENT = lazy_pattern(
    r"<(?P<tag>[A-Za-z_][\w:.-]{0,80}+)(?P<attributes>(?:\s{1,200}+[\w:.-]{1,80}+\s?=\s?"
    r"(?:\"[^\"<>]{0,2000}+\"|'[^'<>]{0,2000}+')){0,40}+)\s{0,20}+(?P<end>/?)>"
)
_ATTRIBUTE = lazy_pattern(r"(?P<lead>(?P<name>[\w:.-]+)\s?=\s?[\"'])(?P<value>[^\"'<>]*)")
_NAMING_ATTRIBUTES: Final = frozenset(("key", "name", "id", "property"))


def assigned(text: str) -> Iterator[tuple[int, int]]:
    """Positions of values that a text assigns to names that indicate a secret."""
    end = 0
    for assignment in _ASSIGNMENT.finditer(text):
        secrecy = secrecy_of(assignment["name"])
        if secrecy is Secrecy.NONE or assignment.start() < end:
            continue
        at, opened = assignment.end(), assignment["open"]
        if opened is not None:
            value = _quoted(len(opened) - 1, opened[-1]).match(text, at)
        elif assignment["close"] is not None and text.startswith("[", at):
            yield from _in_list(text, at, secrecy)
            continue
        else:
            value = (_BARE if "=" in assignment["sep"] else _BARE_IN_STRUCT).match(text, at)
        if value is None:
            continue
        literal = value[0] if opened is not None else value[0].rstrip("\\")
        # An explanation is not that long; one check is sufficient.
        if len(literal) > _MAX_VALUE or (literal and _is_secret_value(assignment, literal, secrecy)):
            end = at + len(literal)
            yield at, end


def _is_secret_value(assignment: re.Match[str], value: str, secrecy: Secrecy) -> bool:
    name, sep, opened = assignment["name"], assignment["sep"], assignment["open"]
    if value.startswith(("<masked", "{", "[", "*****")) or (
        opened is None and value.startswith(("$(", "${"))
    ):
        return False
    text, start = assignment.string, assignment.start()
    if assignment["close"] is not None:  # a member of JSON, or of a Python or Ruby map
        if opened is None and not (is_password(name) and value[:1].isdigit()):
            return False
        return is_literal(value, secrecy) and (secrecy is Secrecy.SURE or looks_secret(value))
    if sep == "=":
        if secrecy is not Secrecy.SURE:
            return looks_secret(value) and not is_reference(value)
        # In running text a name alone proves little: `token=invalid` is an error message.
        return len(value) >= (4 if is_password(name) else 8) and is_literal(value, secrecy)
    if sep == ":":
        if "/" in name:  # an image with its tag
            return False
        if text[start - 1 : start] in ("{", "[") and secrecy is Secrecy.SURE:
            return is_literal(value, secrecy)
    if text[max(0, start - 12) : start].endswith("nexpected "):  # an error message of a parser
        return False
    return _is_value_in_prose(name, value, secrecy)


def _is_value_in_prose(name: str, value: str, secrecy: Secrecy) -> bool:
    """Plain words are an explanation and not a value: `password: authentication failed`."""
    if secrecy is not Secrecy.SURE:
        is_header = name.lower().endswith("authorization") and any(map(str.isdigit, value))
        return looks_secret(value) and (is_header or has_generated_part(value)) and not is_reference(value)
    if len(value) < (6 if is_password(name) else 8) or value.count(" ") > 3:
        return False
    looks_assigned = _LETTER_AND_MORE.match(value) is not None or (len(value) >= 8 and is_generated(value))
    return looks_assigned and is_literal(value, secrecy)


def _in_list(text: str, at: int, secrecy: Secrecy) -> Iterator[tuple[int, int]]:
    """`"tokens":["x","y"]`: strings up to the end of the list."""
    while (opened := _IN_LIST.match(text, at)) is not None:
        quote = opened["open"]
        value = _quoted(len(quote) - 1, quote[-1]).match(text, opened.end())
        if value is None:
            return
        if is_literal(value[0], secrecy) and looks_secret(value[0]):
            yield value.span()
        at = value.end() + len(quote)


@lru_cache(maxsize=64)
def _quoted(backslashes: int, quote: str) -> re.Pattern[str]:
    """Text between quotes with this many backslashes, as in JSON inside JSON."""
    if quote == "`":
        return re.compile(r"[^`\n]++")
    if backslashes == 0:
        return re.compile(rf"(?:[^{quote}\\]|\\.)++", re.DOTALL)
    return re.compile(
        rf"(?:[^{quote}\\]++|\\{{{backslashes + 1},}}+.|\\{{1,{backslashes}}}+(?![{quote}\\]))++"
    )


# XML


def in_elements(text: str) -> Iterator[tuple[int, int]]:
    """`<password>x</password>`, `<add key="Password" value="x"/>`, `<entry key="db.password">x</entry>`."""
    for element in _ELEMENT.finditer(text):
        name, value = element["tag"].rpartition(":")[2], None
        for attribute in _ATTRIBUTE.finditer(text, *element.span("attributes")):
            if attribute["name"].lower() in _NAMING_ATTRIBUTES:
                name = attribute["value"]
            elif attribute["name"].lower() == "value":
                value = attribute.span("value")
        secrecy = secrecy_of(name)
        if secrecy is Secrecy.NONE:
            continue
        if value is None and not element["end"]:
            end = text.find("</", element.end(), element.end() + 4000)
            value = (element.end(), end) if end > element.end() else None
        if value is not None and is_literal(text[value[0] : value[1]].strip(), secrecy):
            yield value

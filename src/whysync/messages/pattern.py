"""Tables of patterns for known messages, and how they are searched.

A regex is compiled when its `hint`, a literal part of the message, occurs for the first time: most texts are
matched against two or three of some two hundred regexes. Inside a regex every quantifier except the last has
an upper bound, and at most `SEARCHED` characters are searched, so hostile text cannot make it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import compress
from typing import TypeAlias, cast

import msgspec

from whysync.messages.failure import Failure
from whysync.messages.fuzzy_match import (
    ends_in_phrase,
    ends_in_word,
    fold,
    match_beginning,
    match_truncated,
    tolerant,
)
from whysync.messages.scope import Scope, scope_of
from whysync.messages.wrappers import Layer, LayerKind

SEARCHED = 8192
_SHORT = 200


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message, with the wrappers that were removed from it.

    `read` parses a quoted error inside this text. `folded`: ignore case and quotes. `last`: also use patterns
    without a hint, which match any text of a tool. `reason` is the reason of the event.
    """

    text: str
    layers: tuple[Layer, ...] = ()
    folded: bool = False
    last: bool = True
    reason: str = ""
    read: Callable[[str], Failure | None] = msgspec.field(default=lambda _: None)

    def within(self, *kinds: LayerKind) -> bool:
        return any(layer.kind in kinds for layer in self.layers)

    @property
    def scope(self) -> Scope:
        return scope_of(self.layers)

    @property
    def command(self) -> str:
        """The innermost command that failed, such as `git fetch origin`."""
        return next((layer.command for layer in reversed(self.layers) if layer.command), "")

    @property
    def log_level(self) -> str:
        """The level of the log line, in lower case."""
        return next((layer.code for layer in self.layers if layer.kind is LayerKind.LOG), "")

    @property
    def server(self) -> str:
        """The server of the cluster in a wrapper."""
        return next((layer.server for layer in reversed(self.layers) if layer.server), "")


Answer: TypeAlias = "Failure | tuple[Failure, ...] | None"
Builder: TypeAlias = Callable[["re.Match[str]", Context], Answer]
Field: TypeAlias = "Callable[[re.Match[str], Context], object] | str | bool"


class Pattern(msgspec.Struct, frozen=True):
    """`hint` must occur in the text before `regex` is tried; `build` may still decline with `None`."""

    hint: str
    regex: str
    build: Builder


@cache
def compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.DOTALL)


class Table:
    """Patterns in order of precedence, with their hints next to them."""

    def __init__(self, *patterns: Pattern) -> None:
        self.patterns = patterns
        self.hints = tuple(pattern.hint for pattern in patterns)

    @cached_property
    def folded_hints(self) -> tuple[str, ...]:
        return tuple(map(fold, self.hints))


def first_answer(table: Table, context: Context) -> tuple[Failure, ...]:
    """The failures of the first pattern that matches; the order of the table is the precedence."""
    searched = context.text[:SEARCHED]
    if context.folded:
        hinted = map(fold(searched).__contains__, table.folded_hints)
    else:
        hinted = map(searched.__contains__, table.hints)  # lazily, and without a Python frame for each
    compile = tolerant if context.folded else compiled
    for pattern in compress(table.patterns, hinted):
        if context.folded and (pattern.hint.isupper() and " " in pattern.hint):
            continue  # its case matters: `RUNTIME ERROR` is from Jsonnet, not from Go
        match = compile(pattern.regex).search(searched)
        if match is None:
            continue
        answer = pattern.build(match, context)
        if answer is not None and not pattern.hint and not context.last:
            return ()
        if answer is not None:
            return answer if isinstance(answer, tuple) else (answer,)
    return ()


def answer_of_truncated_text(table: Table, context: Context) -> tuple[Failure, ...]:
    """The failures of the pattern that matches most of a truncated text; empty if two patterns disagree."""
    best: tuple[Failure, ...] = ()
    most = 0
    for pattern in table.patterns:
        cut = match_truncated(pattern.regex, context.text) if pattern.hint else None
        if cut is None or cut[1] < most:
            continue
        match, fixed = cut
        is_cut = ends_in_word(pattern.regex, match[0]) or ends_in_phrase(pattern.regex, match[0])
        if pattern.hint not in context.text and not is_cut:
            continue  # a complete text that begins like the pattern
        answer = pattern.build(cast("re.Match[str]", match), context)
        answers = answer if isinstance(answer, tuple) else (answer,) if answer is not None else ()
        if fixed > most:
            best, most = answers, fixed
        elif [type(failure) for failure in answers] != [type(failure) for failure in best]:
            best = ()
    return best or _answer_of_beginning(table, context)


def _answer_of_beginning(table: Table, context: Context) -> tuple[Failure, ...]:
    """The failures of the patterns that a short text is the beginning of; empty if they mean several."""
    known: dict[tuple[type[Failure], ...], tuple[Failure, ...]] = {}
    for pattern in table.patterns if len(context.text) < _SHORT else ():
        match = match_beginning(pattern.regex, context.text) if pattern.hint else None
        answer = pattern.build(cast("re.Match[str]", match), context) if match is not None else None
        if answer is not None:
            answers = answer if isinstance(answer, tuple) else (answer,)
            known.setdefault(tuple(map(type, answers)), answers)
    return next(iter(known.values())) if len(known) == 1 else ()


def fill(kind: type[Failure], *, whole: str = "", **fields: Field) -> Builder:
    """A builder that sets the field of each named group, and the field `whole` to the whole match.

    The value of any other field is a constant, or is computed from the match and the context.
    """

    def build(match: re.Match[str], context: Context) -> Failure:
        values: dict[str, object] = {
            name: value.strip() for name, value in match.groupdict().items() if value
        }
        values["text"] = context.text
        if whole:
            values[whole] = match[0].strip()
        for name, field in fields.items():
            values[name] = field(match, context) if callable(field) else field
        return msgspec.convert(values, kind, strict=False)

    return build


def group_text(match: re.Match[str], group: str) -> str:
    """The text of a named group; empty if it did not match or does not exist."""
    return (match.groupdict().get(group) or "").strip()


def number(match: re.Match[str], group: str) -> int | None:
    digits = group_text(match, group)
    return int(digits) if digits.isdecimal() and len(digits) < 16 else None


def quoted(text: str) -> tuple[str, ...]:
    """The texts in single or double quotes or backticks, in order."""
    return tuple(compiled(r"['\"`]([^'\"`\n]{1,200})['\"`]").findall(text))


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))

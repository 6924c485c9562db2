"""Answers: typed values with a text for clients that do not read structured content, both of limited size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar, cast

import msgspec

from whysync.json_tree import Object, fields
from whysync.mcp.untrusted import NOTE, Untrusted
from whysync.reports.json_yaml import tree

MOST_BYTES: Final = 16_000
"""Limit of a whole answer, text and structured content together."""
FEW_BYTES: Final = 4_000
"""Limit of the answer to "why is this app not Synced and Healthy?"."""


class Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of an answer; fields that have their default are left out."""


class Page(Value, frozen=True, kw_only=True):
    """An answer that may continue: pass `nextCursor` as `cursor` to get the next part."""

    next_cursor: str = ""


A = TypeVar("A", bound=Value)
T = TypeVar("T")


def structured(answer: Value) -> Object:
    return fields(tree(answer))


def text_of(answer: Value) -> str:
    """All fields of the answer as text, with a note about quoted words."""
    return "\n".join((NOTE, *_fields(answer, "")))


def size_of(answer: Value) -> int:
    """Bytes of the text and of the structured content in the protocol's JSON."""
    return len(msgspec.json.encode(answer)) + len(msgspec.json.encode(text_of(answer)))


def first_that_fits(answers: Iterable[A], most: int) -> A:
    """The first answer within the limit, otherwise the last; they come with less and less detail."""
    last: A | None = None
    for last in answers:
        if size_of(last) <= most:
            return last
    assert last is not None
    return last


def most_that_fit(items: Sequence[T], build: Callable[[Sequence[T]], Value], most: int) -> int:
    """How many of the items an answer can have within the limit; at least one, if there is one."""
    low, high = min(1, len(items)), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if size_of(build(items[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _fields(value: Value, indent: str) -> Iterator[str]:
    for field in msgspec.structs.fields(value):
        content: object = getattr(value, field.name)
        if field.default is not msgspec.NODEFAULT and content == field.default:
            continue
        if isinstance(content, tuple):
            yield f"{indent}{field.encode_name}:"
            for item in cast("tuple[object, ...]", content):
                yield f"{indent}- {_inline(item)}"
        elif isinstance(content, Value):
            yield f"{indent}{field.encode_name}: {_inline(content)}"
        else:
            yield f"{indent}{field.encode_name}: {content}"


def _inline(value: object) -> str:
    """One item on one line: `app: shop · sync: OutOfSync`."""
    if not isinstance(value, Value):
        return str(value)
    parts: list[str] = []
    for field in msgspec.structs.fields(value):
        content: object = getattr(value, field.name)
        if field.default is not msgspec.NODEFAULT and content == field.default:
            continue
        if isinstance(content, tuple):
            content = ", ".join(map(_inline, cast("tuple[object, ...]", content)))
        elif not isinstance(content, Untrusted):
            content = _inline(content)
        parts.append(f"{field.encode_name}: {content}")
    return " · ".join(parts)

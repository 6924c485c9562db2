"""A short cut for the YAML that kubectl and whysync write: block style, one key or item a line.

More than twice as fast as building a value from libyaml's events. It never guesses: at the first thing
that is not plain block style (flow collections, anchors, tags, folded or escaped text, a key twice, any
letter beyond ASCII) it gives up, and the whole document is read by the parser that knows all of YAML. A
property test keeps both readings the same.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias, cast

from whysync.json_tree import Json, Object
from whysync.kubernetes.api.yaml.errors import Invalid, YamlLimits
from whysync.kubernetes.api.yaml.scalars import HINTS, as_json, plain

_LINE = re.compile(
    r"( *)((?:- )*)"
    r"(?:([A-Za-z0-9_./$][^\s#:]*(?::[^\s#:]+)*|\"[^\"\\]*\"|'[^']*'):(?: (.*))?|(.+))"
)
_SAFE_FIRST: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.$(+~<=\\^;-")
_LITERALS: Final = frozenset(("|", "|-", "|+"))
_LONGEST_KEY: Final = 1_000


class _NotPlain(Exception):
    """Something that only the real parser should judge."""


_Line: TypeAlias = tuple[int, int, str | None, bool, Json, str, str]
"""What is written in one line.

The column, the number of dashes, the key (`None` in an item of a list that is no mapping), whether there is
no value so that a collection may follow, the text or number, an empty collection (`{}` or `[]`), and how a
block scalar starts that follows.
"""
_LONGEST_LINE: Final = 200
"""Longer lines are rarely repeated."""


def quick(text: str, limits: YamlLimits) -> tuple[Json, int] | None:
    """The value of a document and its first line (from 0), or `None` where the parser must look."""
    if not text.endswith("\n") or not (text.isascii() and text.replace("\n", "").isprintable()):
        return None
    try:
        return _read(text.split("\n"), limits.depth)
    except _NotPlain:
        return None


def _read(lines: list[str], deepest: int) -> tuple[Json, int] | None:
    columns: list[int] = []
    nodes: list[Object | list[Json]] = []
    root: Object | list[Json] | None = None
    first = -1
    waiting = False  # the last key or dash has no value yet: a collection may follow
    last_key = ""
    at, end = 0, len(lines) - 1
    if lines[0] == "---":
        at = 1
    while at < end:
        line = lines[at]
        at += 1
        parsed = _line(line) if len(line) <= _LONGEST_LINE else _new_line(line)
        if parsed is None:
            continue
        column, dashes, key, is_open, value, collection, literal = parsed
        if first < 0:
            first = at - 1
        # A dash opens or continues a list; the text after it is the next item.
        for _ in range(dashes):
            while columns and columns[-1] > column:
                columns.pop()
                nodes.pop()
                waiting = False
            top = nodes[-1] if nodes else None
            if top.__class__ is list and columns[-1] == column:
                sequence = cast("list[Json]", top)
            else:
                # A list may start in the same column as its key.
                sequence = list[Json]()
                if root is None:
                    root = sequence
                else:
                    _hang(nodes, sequence, waiting, last_key, same=columns[-1:] == [column])
                columns.append(column)
                nodes.append(sequence)
            sequence.append(None)
            waiting = True
            column += 2
        if key is not None:
            while columns and (
                columns[-1] > column or (columns[-1] == column and nodes[-1].__class__ is list)
            ):
                columns.pop()
                nodes.pop()
                waiting = False
            if columns and columns[-1] == column:
                mapping: Object = nodes[-1]  # pyright: ignore[reportAssignmentType]  (no list is left here)
            else:
                mapping = {}
                if root is None:
                    root = mapping
                else:
                    _hang(nodes, mapping, waiting, last_key, same=False)
                columns.append(column)
                nodes.append(mapping)
            if key in mapping or len(nodes) > deepest:
                raise _NotPlain
            last_key = key
            waiting = is_open
            if literal:
                mapping[key], at = _literal(lines, at, column, literal)
            elif collection:
                mapping[key] = {} if collection == "{}" else []
            else:
                mapping[key] = value
        else:
            if not dashes or len(nodes) > deepest:
                raise _NotPlain
            waiting = False
            sequence = cast("list[Json]", nodes[-1])
            if literal:
                sequence[-1], at = _literal(lines, at, column - 2, literal)
            elif collection:
                sequence[-1] = {} if collection == "{}" else []
            else:
                sequence[-1] = value
    return None if root is None else (root, first)


def _new_line(line: str) -> _Line | None:
    """What is written in a line; `None` for an empty line or a comment."""
    matched = _LINE.fullmatch(line)
    if matched is None:
        if line:
            raise _NotPlain
        return None
    indent, dashes, key, value, item = matched.groups()
    if item is not None and item[0] == "#":
        if dashes:
            raise _NotPlain
        return None
    column, count = len(indent), len(dashes) >> 1
    written = value if key is not None else item
    key = _key(key) if key is not None else None
    if written is None:
        return (column, count, key, True, None, "", "")
    if written in _LITERALS:
        return (column, count, key, False, None, "", written)
    if written == "{}" or written == "[]":
        return (column, count, key, False, None, written, "")
    return (column, count, key, False, _value(written), "", "")


_line = lru_cache(maxsize=65_536)(_new_line)
"""Most lines of manifests are repeated in others."""


def _hang(
    nodes: list[Object | list[Json]], child: Object | list[Json], waiting: bool, key: str, *, same: bool
) -> None:
    """Hang a new collection below the key or dash that waits for one."""
    if not waiting or not nodes:
        raise _NotPlain
    parent = nodes[-1]
    if not isinstance(parent, list):
        parent[key] = child
    elif same:
        raise _NotPlain
    else:
        parent[-1] = child


def _key(written: str) -> str:
    if len(written) > _LONGEST_KEY:
        raise _NotPlain
    if written[0] in "\"'":
        return written[1:-1]
    if written[0] in HINTS and type(plain(written)) is not str:
        raise _NotPlain
    return written


def _value(written: str) -> Json:
    first = written[:1]
    if first in _SAFE_FIRST and first:
        if written[-1] in ": " or ": " in written or " #" in written or written[:2] in ("-", "- "):
            raise _NotPlain
        if first not in HINTS:
            return written
        try:
            return as_json(plain(written))
        except Invalid:
            raise _NotPlain from None
    if len(written) > 1 and written[-1] == first:
        inner = written[1:-1]
        if first == '"' and '"' not in inner and "\\" not in inner:
            return inner
        if first == "'" and "'" not in inner:
            return inner
    raise _NotPlain


def _literal(lines: list[str], at: int, parent: int, mark: str) -> tuple[str, int]:
    """The text of a block scalar, and the line after it."""
    opening = lines[at]
    indent = len(opening) - len(opening.lstrip(" "))
    if not opening or indent <= parent or indent == len(opening):
        raise _NotPlain
    content: list[str] = []
    end = len(lines) - 1
    while at < end:
        line = lines[at]
        if not line:
            content.append("")
        elif line.isspace():
            raise _NotPlain
        elif line.startswith(opening[:indent]):
            content.append(line[indent:])
        else:
            break
        at += 1
    body = "\n".join(content)
    if mark == "|+":
        return f"{body}\n", at
    body = body.rstrip("\n")
    return (body if mark == "|-" else f"{body}\n"), at

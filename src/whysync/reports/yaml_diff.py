"""Line diff of two objects as YAML: the live object, and the object after a sync."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, NamedTuple

from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.yaml import dump
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

_CONTEXT: Final = 3
_MOST_LINES: Final = 20_000


class TooLong(Exception):
    """The objects are too long for a line diff."""


class Line(NamedTuple):
    """`mark` is `-`, `+`, `@` or a blank."""

    mark: str
    text: str


class Sides(NamedTuple):
    """`mark` is `<` (live alone), `>` (after a sync alone), `|` (changed), `@` or a blank."""

    live: str
    mark: str
    predicted: str


def unified(live: Object | None, predicted: Object | None) -> list[Line]:
    old, new = _lines(live), _lines(predicted)
    lines: list[Line] = []
    for group in _matcher(old, new).get_grouped_opcodes(_CONTEXT):
        lines.append(Line("@", _place(group, old, new)))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [Line(" ", text) for text in old[a:b]]
                continue
            lines += [Line("-", text) for text in old[a:b]]
            lines += [Line("+", text) for text in new[c:d]]
    return lines


def side_by_side(live: Object | None, predicted: Object | None) -> list[Sides]:
    old, new = _lines(live), _lines(predicted)
    rows: list[Sides] = []
    for group in _matcher(old, new).get_grouped_opcodes(_CONTEXT):
        rows.append(Sides("", "@", _place(group, old, new)))
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [Sides(text, " ", text) for text in old[a:b]]
            else:
                rows += _paired_lines(old[a:b], new[c:d])
    return rows


def _paired_lines(old: list[str], new: list[str]) -> Iterator[Sides]:
    for left, right in zip_longest(old, new):
        mark = "|" if left is not None and right is not None else "<" if right is None else ">"
        yield Sides(left or "", mark, right or "")


def _matcher(old: list[str], new: list[str]) -> difflib.SequenceMatcher[str]:
    if len(old) + len(new) > _MOST_LINES:
        raise TooLong
    return difflib.SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > 2_000)


def _place(group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str]) -> str:
    """The path of the field that contains the first changed line."""
    _, a, b, c, _ = next(opcode for opcode in group if opcode[0] != "equal")
    text, start = (old, a) if b > a else (new, c)
    path: list[str] = []
    depth = _column(text[start])
    for line in reversed(text[: start + 1]):
        column, indent = _column(line), _indent(line)
        if column < depth and line.endswith(":"):
            depth = column
            path.append(line[column:].rstrip(":"))
        if indent < column and indent < depth:
            depth = (
                indent + 1
            )  # an item of a list begins here: the key of the list may have the same indentation
    return ".".join(reversed(path))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _column(line: str) -> int:
    """The column at which the key of a line begins, after the dashes of lists."""
    return len(line) - len(line.lstrip(" -"))


def _lines(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    return dump(_displayed(obj)).splitlines()


def _displayed(obj: Object) -> Object:
    """The object with sorted keys, without managedFields and the last-applied annotation."""
    meta = {key: value for key, value in fields(obj.get("metadata")).items() if key != "managedFields"}
    annotations = {
        key: value for key, value in fields(meta.get("annotations")).items() if key != LAST_APPLIED
    }
    if "annotations" in meta:
        meta["annotations"] = annotations
        if not annotations:
            del meta["annotations"]
    tree = _ordered({**obj, "metadata": meta} if "metadata" in obj else obj)
    assert isinstance(tree, dict)
    return tree


def _ordered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value

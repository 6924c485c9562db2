"""Plain jq expressions, evaluated without jq.

`.spec.replicas`, `.webhooks[]?.clientConfig.caBundle`, `.metadata.annotations["a/b"]`,
`.spec.containers[] | select(.name == "x") | .image`: fields, items, numbers, and `select` by equality.
These behave the same in every jq; all others are evaluated by libjq. Error messages are gojq's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

import msgspec

from whysync.json_tree import Json, Missing, dig


class PlainFailure(ValueError):
    """The expression cannot be applied to the object; with gojq's message."""


class Field(msgspec.Struct, frozen=True):
    name: str
    optional: bool


class Item(msgspec.Struct, frozen=True):
    index: int
    optional: bool


class Each(msgspec.Struct, frozen=True):
    optional: bool


class Select(msgspec.Struct, frozen=True):
    steps: tuple[Field | Item, ...]
    value: str | int | bool | None


Step: TypeAlias = "Field | Item | Each | Select"
Program: TypeAlias = "tuple[Step, ...]"

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r'"[^"\\]*"'
_TOKEN = rf"""(?x)\s*(?:
      \.(?P<field>{_NAME}|{_STRING})(?P<field_opt>\??)
    | (?P<dot>\.)?\[\s*(?:(?P<key>{_STRING})|(?P<index>-?\d{{1,9}})|)\s*\](?P<item_opt>\??)
    | (?P<pipe>\|)(?!=)
    | select\(\s*(?P<select>[^()|,]*?)\s*==\s*(?P<value>{_STRING}|-?\d{{1,15}}|true|false|null)\s*\)
    )"""
_LONGEST = 2000


@lru_cache(maxsize=4096)
def parse(expression: str) -> Program | None:
    """The steps of a plain expression; `None` if it needs libjq."""
    if len(expression) > _LONGEST:
        return None
    program: list[Step] = []
    expect_term = True  # at the start and after a pipe a term begins: `.a`, `.[0]`, `select(…)`
    at = 0
    text = expression.rstrip()
    tokens = re.compile(_TOKEN)
    while at < len(text):
        token = tokens.match(text, at)
        if token is None:
            return None
        at = token.end()
        if token["pipe"]:
            if expect_term:
                return None
            expect_term = True
            continue
        step = _step(token, expect_term=expect_term)
        if step is None:
            return None
        program.append(step)
        expect_term = False
    return None if expect_term or not program else tuple(program)


def _step(token: re.Match[str], *, expect_term: bool) -> Step | None:
    if token["select"] is not None:
        return _select(token["select"], token["value"]) if expect_term else None
    if token["field"] is not None:
        return Field(token["field"].strip('"'), optional=bool(token["field_opt"]))
    if expect_term and not token["dot"]:
        return None  # `[0]` at the start makes an array
    optional = bool(token["item_opt"])
    if token["key"] is not None:
        return Field(token["key"].strip('"'), optional=optional)
    return Each(optional=optional) if token["index"] is None else Item(int(token["index"]), optional=optional)


def _select(condition: str, value: str) -> Select | None:
    steps = parse(condition)
    if steps is None or "|" in condition:
        return None
    plain = tuple(step for step in steps if isinstance(step, Field | Item))
    # an optional step can yield nothing at all, which is not the same as false
    if len(plain) != len(steps) or any(step.optional for step in plain):
        return None
    literal: object = json.loads(value)
    assert literal is None or isinstance(literal, str | int | bool)
    return Select(plain, literal)


def deleted(tree: Json, program: Program) -> Json:
    """What `del(<program>)` yields; all paths are found before the first is removed, as in jq."""
    return all_removed(tree, paths_of(tree, program))


def paths_of(tree: Json, program: Program) -> list[Path]:
    reached: Iterable[tuple[Path, Json]] = [((), tree)]
    for step in program:
        reached = list(_advance(reached, step))
    return [path for path, _ in reached]


def _advance(reached: Iterable[tuple[Path, Json]], step: Step) -> Iterator[tuple[Path, Json]]:
    for path, value in reached:
        try:
            match step:
                case Each():
                    yield from ((((*path, key)), item) for key, item in _children(value))
                case Select():
                    if _equal(_value_at(value, step.steps), step.value):
                        yield path, value
                case Field(name):
                    yield (*path, name), _field(value, name)
                case Item(index):
                    yield (*path, index), _item(value, index)
        except PlainFailure:
            if isinstance(step, Select) or not step.optional:
                raise


def _children(value: Json) -> Iterable[tuple[str | int, Json]]:
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return sorted(value.items(), key=lambda pair: pair[0])
    raise PlainFailure(f"cannot iterate over: {_preview(value)}")


def _field(value: Json, name: str) -> Json:
    if value is None:
        return None
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list):
        raise PlainFailure(f'expected a number for indexing an array but got: string ("{name}")')
    raise PlainFailure(f"expected an object but got: {_preview(value)}")


def _item(value: Json, index: int) -> Json:
    if value is None:
        return None
    if isinstance(value, list):
        return value[index] if -len(value) <= index < len(value) else None
    if isinstance(value, dict):
        raise PlainFailure(f"expected a string for object key but got: number ({index})")
    raise PlainFailure(f"expected an array but got: {_preview(value)}")


def _value_at(value: Json, steps: tuple[Field | Item, ...]) -> Json:
    for step in steps:
        value = _field(value, step.name) if isinstance(step, Field) else _item(value, step.index)
    return value


def _equal(actual: Json, expected: str | int | bool | None) -> bool:
    return isinstance(actual, bool) == isinstance(expected, bool) and actual == expected


def _preview(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            kind, more = "boolean", " ..."
        case int() | float():
            kind, more = "number", " ..."
        case str():
            kind, more = "string", ' ..."'
        case list():
            kind, more = "array", " ...]"
        case dict():
            kind, more = "object", " ...}"
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"{kind} ({shown if len(shown) <= 30 else shown[: 30 - len(more)] + more})"


Path: TypeAlias = "tuple[str | int, ...]"


def removed(tree: Json, path: Path) -> Json:
    """The tree without what is at `path`; only the nodes on the way are copied.

    A missing path changes nothing.
    """
    if not path:
        return None
    parents: list[Json] = []
    current = tree
    for step in path:
        below = dig(current, step)
        if isinstance(below, Missing):
            return tree
        parents.append(current)
        current = below
    changed = _without(parents.pop(), path[-1])
    for parent, step in zip(reversed(parents), reversed(path[:-1]), strict=True):
        changed = _with(parent, step, changed)
    return changed


def all_removed(tree: Json, paths: Iterable[Path]) -> Json:
    """Later items of a list are removed first, so that indexes of earlier ones stay valid."""
    for path in sorted(set(paths), key=_order, reverse=True):
        tree = removed(tree, path)
    return tree


def _order(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (0, step) for step in path)


def _without(parent: Json, step: str | int) -> Json:
    if isinstance(parent, dict):
        return {key: value for key, value in parent.items() if key != step}
    assert isinstance(parent, list)
    assert isinstance(step, int)
    index = step % len(parent)
    return parent[:index] + parent[index + 1 :]


def _with(parent: Json, step: str | int, child: Json) -> Json:
    if isinstance(parent, dict):
        return {**parent, str(step): child}
    assert isinstance(parent, list)
    assert isinstance(step, int)
    index = step % len(parent)
    return [*parent[:index], child, *parent[index + 1 :]]

"""The predefined functions of Go templates, except `and` and `or`, which do not evaluate all arguments.

Mirrors `text/template/funcs.go`, Go 1.26.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote_plus

from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.golang.template.printf import sprint, sprintf, sprintln
from whysync.golang.template.values import (
    NO_VALUE,
    StringMap,
    Value,
    is_true,
    kind_name,
    text_of,
    type_name,
)

_HTML: Final = str.maketrans(
    {'"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "\0": "\ufffd"}
)


def index(item: Value, *indexes: Value) -> Value:
    if item is NO_VALUE or item is None:
        raise TemplateError("index of untyped nil")
    for key in indexes:
        match item:
            case list():
                if isinstance(key, bool) or not isinstance(key, int):
                    raise TemplateError(f"cannot index slice/array with type {type_name(key)}")
                if not 0 <= key < len(item):
                    raise TemplateError(f"index out of range: {int(key)}")
                item = item[key]
            case str():
                if isinstance(key, bool) or not isinstance(key, int):
                    raise TemplateError(f"cannot index slice/array with type {type_name(key)}")
                encoded = item.encode()
                if not 0 <= key < len(encoded):
                    raise TemplateError(f"index out of range: {int(key)}")
                item = encoded[key]
            case dict():
                if not isinstance(key, str):
                    raise TemplateError(f"value has type {type_name(key)}; should be string")
                item = item.get(key, "" if isinstance(item, StringMap) else NO_VALUE)
            case None:
                raise TemplateError("index of nil pointer")
            case _:
                raise TemplateError(f"can't index item of type {type_name(item)}")
    return item


def length(item: Value) -> int:
    if isinstance(item, str):
        return len(item.encode())
    if isinstance(item, list | dict):
        return len(item)
    if item is None or item is NO_VALUE:
        raise TemplateError("len of nil pointer")
    raise TemplateError(f"len of type {type_name(item)}")


def equal(first: Value, *others: Value) -> bool:
    if not others:
        raise TemplateError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: Value, other: Value) -> bool:
    first_kind, other_kind = _basic_kind(first), _basic_kind(other)
    is_valid = first_kind != "invalid" and other_kind != "invalid"
    if first_kind != other_kind:
        if is_valid:
            raise TemplateError("incompatible types for comparison")
        return False
    if first_kind in ("list", "map"):
        raise TemplateError(f"non-comparable type {text_of(first)}: {type_name(first)}")
    return first_kind == "invalid" or first == other


def _less(first: Value, other: Value) -> bool:
    kind = _basic_kind(first)
    if kind in ("invalid", "list", "map"):
        raise TemplateError("invalid type for comparison")
    if kind != _basic_kind(other):
        raise TemplateError("incompatible types for comparison")
    if isinstance(first, str) and isinstance(other, str):
        return first.encode() < other.encode()
    if kind == "bool" or not isinstance(first, int | float) or not isinstance(other, int | float):
        raise TemplateError("invalid type for comparison")
    return first < other


def _greater(first: Value, other: Value) -> bool:
    return not (_less(first, other) or _equal(first, other))


def _less_or_equal(first: Value, other: Value) -> bool:
    return _less(first, other) or _equal(first, other)


def _basic_kind(value: Value) -> str:
    kind = kind_name(value)
    return {"int64": "int", "slice": "list"}.get(kind, kind)


def _call(*_: Value) -> Value:
    raise NotEvaluated("a template uses the function call")


def _js(*_: Value) -> Value:
    raise NotEvaluated("a template uses the function js")


def _evaluated_text(values: tuple[Value, ...]) -> str:
    return values[0] if len(values) == 1 and isinstance(values[0], str) else sprint(values)


def _format(format: Value) -> str:
    if not isinstance(format, str):
        raise TemplateError(f"wrong type for value; expected string; got {type_name(format)}")
    return format


def _negated(decide: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool]:
    return lambda first, other: not decide(first, other)


def _printf(format: Value, *values: Value) -> str:
    return sprintf(_format(format), values)


def _not(value: Value) -> bool:
    return not is_true(value)


BUILTINS: Final[dict[str, Callable[..., Value]]] = {
    "call": _call,
    "eq": equal,
    "ge": _negated(_less),
    "gt": _greater,
    "html": lambda *values: _evaluated_text(values).translate(_HTML),
    "index": index,
    "js": _js,
    "le": _less_or_equal,
    "len": length,
    "lt": _less,
    "ne": _negated(_equal),
    "not": _not,
    "print": lambda *values: sprint(values),
    "printf": _printf,
    "println": lambda *values: sprintln(values),
    "urlquery": lambda *values: quote_plus(_evaluated_text(values)),
}

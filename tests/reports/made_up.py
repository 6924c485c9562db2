"""Values of any report type, made up from the type alone: every string in them can be a hostile one."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Union, cast

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import Json

# Names that modules import for their annotations only.
_LATE = {"Case": Case, "Finding": Finding}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Field = tuple[type, str]
"""A type and one of its fields."""


class Maker:
    """Makes values of a type; the strings of `poisoned` fields, or of all, are `poison`.

    `given` are values of types that cannot be made up. An optional value is there, a union is its member
    number `turn`, a list has two equal elements, an enum is its member number `turn`.
    """

    def __init__(
        self, poison: str, given: Mapping[type, object], *, only: Field | None = None, turn: int = 0
    ) -> None:
        self._poison = poison
        self._given = given
        self._only = only
        self._turn = turn
        self.fields: set[Field] = set()

    def made(self, wanted: Any, owner: Field | None = None) -> Any:
        wanted = getattr(wanted, "__value__", wanted)
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if wanted is str:
            return self._text(owner)
        if wanted is Path:
            return Path(self._text(owner).replace("\0", ""))
        if isinstance(wanted, type) and wanted in self._given:
            return self._given[wanted]
        if wanted is None or wanted is types.NoneType:
            return None
        if origin in (types.UnionType, Union):
            return self._member(arguments, owner)
        if origin is typing.Literal:
            return arguments[self._turn % len(arguments)]
        if origin is tuple and arguments[-1:] != (...,):
            return tuple(self.made(argument, owner) for argument in arguments)
        if origin in (tuple, list, frozenset, set):
            return cast("object", origin([self.made(arguments[0], owner)] * 2))
        if origin is dict:
            return {self.made(arguments[0], owner): self.made(arguments[1], owner)}
        if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
            return list(wanted)[self._turn % len(wanted)]
        if wanted in (int, float, bool):
            return wanted(1)
        if origin is Callable:
            return _no_findings
        if wanted is datetime:
            return NOW
        if wanted is SymptomId:
            return SymptomId(SymptomKind.DIFFERS, name=self._text(owner))
        if isinstance(wanted, type):
            return self._struct(wanted)
        raise TypeError(f"cannot make up {wanted}")

    def _member(self, members: tuple[Any, ...], owner: Field | None) -> Any:
        """JSON is recursive, so a string stands for it."""
        there = [member for member in members if member is not types.NoneType]
        if str in there and any(typing.get_origin(one) is dict for one in there):
            text = self._text(owner)
            return {text: [text]} if self._turn else text
        return self.made(there[self._turn % len(there)], owner)

    def _text(self, owner: Field | None) -> str:
        if owner is not None:
            self.fields.add(owner)
        return self._poison if self._only is None or self._only == owner else "word"

    def _struct(self, wanted: type) -> Any:
        return wanted(**{name: self.made(hint, (wanted, name)) for name, hint in _hints(wanted).items()})


def _no_findings(_: Case) -> tuple[Finding, ...]:
    return ()


@cache
def _hints(wanted: type) -> dict[str, Any]:
    names = tuple(_names(wanted))
    type_hints = typing.get_type_hints(wanted, localns=_LATE)
    return {name: hint for name, hint in type_hints.items() if name in names}


def _names(wanted: Any) -> Iterator[str]:
    if issubclass(wanted, msgspec.Struct):
        yield from wanted.__struct_fields__
    elif hasattr(wanted, "_fields"):
        yield from cast("tuple[str, ...]", wanted._fields)
    else:
        raise TypeError(f"cannot make up {wanted}")


def poisoned(value: Json, key: str, poison: str, at: str = "") -> Json:
    """The tree with `poison` in each string below a field called `key`, and in keys of maps there."""
    if isinstance(value, dict):
        return {
            f"{name}{poison}" if at == key and name not in _KEPT else name: poisoned(item, key, poison, name)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [poisoned(item, key, poison, at) for item in value]
    return f"{value}{poison}" if isinstance(value, str) and at == key else value


_KEPT = frozenset(("name", "namespace", "kind", "apiVersion", "metadata", "spec", "status"))


def keys_in(value: Json, at: str = "") -> Iterator[str]:
    """Names of fields that hold a string, or a map."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from keys_in(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from keys_in(item, at)
    elif isinstance(value, str):
        yield at

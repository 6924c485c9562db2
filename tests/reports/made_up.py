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
        self, poison: str, fixed_values: Mapping[type, object], *, only: Field | None = None, turn: int = 0
    ) -> None:
        self._poison = poison
        self._fixed_values = fixed_values
        self._only = only
        self._turn = turn
        self.fields: set[Field] = set()

    def made(self, annotation: Any, owner: Field | None = None) -> Any:
        annotation = getattr(annotation, "__value__", annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation is str:
            return self._text(owner)
        if annotation is Path:
            return Path(self._text(owner).replace("\0", ""))
        if isinstance(annotation, type) and annotation in self._fixed_values:
            return self._fixed_values[annotation]
        if annotation is None or annotation is types.NoneType:
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
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return list(annotation)[self._turn % len(annotation)]
        if annotation in (int, float, bool):
            return annotation(1)
        if origin is Callable:
            return _no_findings
        if annotation is datetime:
            return NOW
        if annotation is SymptomId:
            return SymptomId(SymptomKind.DIFFERS, name=self._text(owner))
        if isinstance(annotation, type):
            return self._struct(annotation)
        raise TypeError(f"cannot make up {annotation}")

    def _member(self, members: tuple[Any, ...], owner: Field | None) -> Any:
        """One member of a union; JSON is recursive, so a string is used for it."""
        candidates = [member for member in members if member is not types.NoneType]
        if str in candidates and any(typing.get_origin(member_type) is dict for member_type in candidates):
            text = self._text(owner)
            return {text: [text]} if self._turn else text
        return self.made(candidates[self._turn % len(candidates)], owner)

    def _text(self, owner: Field | None) -> str:
        if owner is not None:
            self.fields.add(owner)
        return self._poison if self._only is None or self._only == owner else "word"

    def _struct(self, struct: type) -> Any:
        return struct(**{name: self.made(hint, (struct, name)) for name, hint in _hints(struct).items()})


def _no_findings(_: Case) -> tuple[Finding, ...]:
    return ()


@cache
def _hints(struct: type) -> dict[str, Any]:
    names = tuple(_names(struct))
    type_hints = typing.get_type_hints(struct, localns=_LATE)
    return {name: hint for name, hint in type_hints.items() if name in names}


def _names(struct: Any) -> Iterator[str]:
    if issubclass(struct, msgspec.Struct):
        yield from struct.__struct_fields__
    elif hasattr(struct, "_fields"):
        yield from cast("tuple[str, ...]", struct._fields)
    else:
        raise TypeError(f"cannot make up {struct}")


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

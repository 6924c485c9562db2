"""Errors of single fields, in the wording of the API server.

Mirrors apimachinery `field.Error` and `errors.NewInvalid`, Kubernetes 1.36. The value of a problem is kept as
the server prints it: strings quoted as Go quotes them, everything else as Go's JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

import msgspec

from whysync.golang.fmt import printed, quoted
from whysync.json_tree import Json

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"


class Kind(StrEnum):
    """The value is the reason of a Status cause; `label` is its text in messages."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    UNSUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Kind.NOT_FOUND: "Not found",
    Kind.REQUIRED: "Required value",
    Kind.DUPLICATE: "Duplicate value",
    Kind.INVALID: "Invalid value",
    Kind.UNSUPPORTED: "Unsupported value",
    Kind.FORBIDDEN: "Forbidden",
    Kind.TOO_LONG: "Too long",
    Kind.TOO_MANY: "Too many",
}


class FieldProblem(msgspec.Struct, frozen=True):
    """`path` is written as the server writes it (`spec.ports[0].name`), `value` as it prints it or `None`."""

    kind: Kind
    path: str
    value: str | None = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the field: the message of a Status cause."""
        return ": ".join(text for text in (self.kind.label, self.value, self.detail) if text)

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


Problems: TypeAlias = Iterator[FieldProblem]


def required(path: str, detail: str = "") -> FieldProblem:
    return FieldProblem(Kind.REQUIRED, path, detail=detail)


def forbidden(path: str, detail: str) -> FieldProblem:
    return FieldProblem(Kind.FORBIDDEN, path, detail=detail)


def invalid(path: str, value: Json, detail: str) -> FieldProblem:
    return FieldProblem(Kind.INVALID, path, printed(value), detail)


def invalid_without_value(path: str, detail: str) -> FieldProblem:
    return FieldProblem(Kind.INVALID, path, detail=detail)


def duplicate(path: str, value: Json, detail: str = "") -> FieldProblem:
    return FieldProblem(Kind.DUPLICATE, path, printed(value), detail)


def not_found(path: str, value: Json, detail: str = "") -> FieldProblem:
    return FieldProblem(Kind.NOT_FOUND, path, printed(value), detail)


def unsupported(path: str, value: Json, supported: Iterable[str]) -> FieldProblem:
    supported_text = ", ".join(quoted(name) for name in supported)
    return FieldProblem(Kind.UNSUPPORTED, path, printed(value), f"supported values: {supported_text}")


def too_long(path: str, max_length: int) -> FieldProblem:
    return FieldProblem(Kind.TOO_LONG, path, detail=f"may not be more than {max_length} bytes")


def too_many(path: str, count: int, max_items: int) -> FieldProblem:
    detail = f"must have at most {max_items} item{'' if max_items == 1 else 's'}"
    return FieldProblem(Kind.TOO_MANY, path, printed(count), detail)


def each(path: str, value: Json, details: Iterable[str]) -> Iterable[FieldProblem]:
    """One `Invalid value` per detail; the checks of `names` return several."""
    return [invalid(path, value, detail) for detail in details] if details else ()

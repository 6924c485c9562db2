"""Kinds and fields of other releases of Kubernetes than that of the schema tables.

`data/releases.json`, written by `tools/releases.py`, contains only the differences:

- `kinds`: by `apiVersion`, the releases that have a kind: `34-` since 1.34, `-27` until 1.27, `26-31`
  both; behind a `|` its struct, where the tables of 1.36 do not have it;
- `fields`: by struct, the same for its fields; behind the `|` the type, in the notation of `pack`, of a field
  that 1.36 does not have.

A release is the number behind `1.`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec

from whysync.kubernetes.schema.types import Field, Struct, Type, kinds, read_data, type_named, type_of

OLDEST: Final = 25
BASE: Final = 36
"""The release of the schema tables."""
NEWEST: Final = 37


class Span(NamedTuple):
    """First and last release that have a kind or field."""

    first: int
    last: int

    def holds(self, release: int) -> bool:
        return self.first <= release <= self.last


ALWAYS: Final = Span(OLDEST, NEWEST)


class _History(msgspec.Struct):
    kinds: dict[str, dict[str, str]]
    fields: dict[str, dict[str, str]]


def release_of(written: str) -> int | None:
    """`1.31` or `v1.31.2-eks-1` → 31, or the nearest known release; `None` if the text is no version."""
    matched = re.match(r"v?1\.(\d{1,4})(?!\d)", written)
    return min(max(int(matched[1]), OLDEST), NEWEST) if matched else None


def span_of_kind(api_version: str, kind: str) -> Span | None:
    """The releases that have a kind; `None` if none since 1.25 has it."""
    entry = _history().kinds.get(api_version, {}).get(kind)
    if entry is not None:
        return _span(entry)
    return ALWAYS if type_of(api_version, kind) is not None else None


def span_of_field(struct: Struct, name: str) -> Span | None:
    entry = _history().fields.get(struct.name, {}).get(name)
    if entry is not None:
        return _span(entry)
    return ALWAYS if name in struct.fields else None


def span_at(api_version: str, kind: str, path: Sequence[str]) -> Span | None:
    """The releases that have the field at a path of keys and indexes; `None` if it is unknown."""
    current = type_of(api_version, kind)
    common, is_field = ALWAYS, False
    for key in path:
        if current is None:
            return None
        is_field = current.kind == "struct"
        if not is_field:
            current = current.element
            continue
        span = span_of_field(current.struct, key)
        if span is None:
            return None
        common = Span(max(common.first, span.first), min(common.last, span.last))
        current = fields_in(current.struct, span.last)[key].type
    return common if is_field else None


def type_in(api_version: str, kind: str, release: int) -> Type | None:
    """The type of a kind in that release; `None` if the release does not have it."""
    entry = _history().kinds.get(api_version, {}).get(kind, "")
    if not _span(entry).holds(release):
        return None
    _, _, name = entry.partition("|")
    return type_named(name) if name else type_of(api_version, kind)


def versions_in(group: str, kind: str, release: int) -> list[str]:
    """The versions of the group in which that release serves the kind."""
    api_versions = {*kinds(), *_history().kinds}
    return [
        api_version
        for api_version in sorted(api_versions)
        if api_version.rpartition("/")[0] == group and type_in(api_version, kind, release)
    ]


def fields_in(struct: Struct, release: int) -> dict[str, Field]:
    """The fields of a struct in that release."""
    return struct.fields if release == BASE else _fields_in(struct, release)


@cache
def _fields_in(struct: Struct, release: int) -> dict[str, Field]:
    known_fields = dict(struct.fields)
    for name, entry in _history().fields.get(struct.name, {}).items():
        _, _, line = entry.partition("|")
        if not _span(entry).holds(release):
            known_fields.pop(name, None)
        elif line:
            known_fields[name] = Field(name, line, struct.package)
    return known_fields


def _span(entry: str) -> Span:
    first, _, last = entry.partition("|")[0].partition("-")
    return Span(int(first) if first else OLDEST, int(last) if last else NEWEST)


@cache
def _history() -> _History:
    return msgspec.json.decode(read_data("releases"), type=_History)

"""The sources of an Application, and their equality in Argo CD.

They are read from the raw object, because the decoded one lacks fields that make sources different.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Missing, Object, dig, fields, items, text

_FREE_FORM: Final = "valuesObject"
"""Arbitrary YAML, in which an empty string is a value."""


def has_multiple_sources(spec: Object) -> bool:
    return not fields(spec.get("sourceHydrator")) and bool(items(spec.get("sources")))


def source_of(spec: Object) -> Object:
    """The source of the hydrator, the first of several, or the only one. Mirrors `GetSource`."""
    hydrator = fields(spec.get("sourceHydrator"))
    if hydrator:
        sync = fields(hydrator.get("syncSource"))
        return {
            "repoURL": text(sync.get("repoURL")) or text(dig(hydrator, "drySource", "repoURL")),
            "path": text(sync.get("path")),
            "targetRevision": text(sync.get("targetBranch")),
        }
    if has_multiple_sources(spec):
        return fields(items(spec.get("sources"))[0])
    return fields(spec.get("source"))


def same_sources(spec: Object, other: Object) -> bool:
    """`other` has `source` or `sources` too: a sync result, or `comparedTo`."""
    if has_multiple_sources(spec):
        return same(spec.get("sources"), other.get("sources"))
    return same(source_of(spec), fields(other.get("source")))


def same(left: Json | Missing, right: Json | Missing) -> bool:
    """Equal as Go structs: an empty field equals a missing one, but an empty list does not."""
    return _plain(left) == _plain(right)


def _plain(value: Json | Missing) -> Json:
    match value:
        case dict():
            return {
                key: item if key == _FREE_FORM else _plain(item)
                for key, item in value.items()
                if item is not None and item is not False and item not in ("", 0)
            }
        case list():
            return [_plain(item) for item in value]
        case Missing():
            return None
        case _:
            return value

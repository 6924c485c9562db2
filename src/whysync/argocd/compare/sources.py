"""The sources of an Application, compared as Argo CD compares them.

They are read from the raw object: a typed one knows only some of their many fields, and one parameter more
makes another source.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Missing, Object, dig, fields, items, text

_FREE_FORM: Final = "valuesObject"
"""Users' own YAML: there, an empty text is a value."""


def has_multiple_sources(spec: Object) -> bool:
    return not fields(spec.get("sourceHydrator")) and bool(items(spec.get("sources")))


def source_of(spec: Object) -> Object:
    """The source that counts: of the hydrator, the first of many, or the only one. Mirrors `GetSource`."""
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
    """`other` holds `source` or `sources` too: what was synced, or what was compared with."""
    if has_multiple_sources(spec):
        return same(spec.get("sources"), other.get("sources"))
    return same(source_of(spec), fields(other.get("source")))


def same(left: Json | Missing, other: Json | Missing) -> bool:
    """Equal as Go's structs: a field that is empty is as good as absent. An empty list is not."""
    return _plain(left) == _plain(other)


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

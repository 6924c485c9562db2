"""The object that was applied last, as kubectl and Argo CD write it into an annotation."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Object, fields
from whysync.kubernetes.api import pointer

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
LAST_APPLIED_POINTER: Final = pointer.join(("metadata", "annotations", LAST_APPLIED))

_object = msgspec.json.Decoder(dict[str, object])


def last_applied_text(obj: Object) -> str | None:
    annotation = fields(fields(obj.get("metadata")).get("annotations")).get(LAST_APPLIED)
    return annotation if isinstance(annotation, str) else None


def last_applied(obj: Object) -> Object | None:
    """The object in the last-applied annotation; `None` if it is missing or invalid."""
    annotation = last_applied_text(obj)
    return None if annotation is None else parse(annotation)


def parse(text: str) -> Object | None:
    """An annotation's text as an object; as upstream it must name a kind."""
    try:
        tree = _object.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return tree if isinstance(tree.get("kind"), str) and tree["kind"] else None  # type: ignore[return-value]


def without_last_applied(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if LAST_APPLIED not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return {**obj, "metadata": {**meta, "annotations": kept}}

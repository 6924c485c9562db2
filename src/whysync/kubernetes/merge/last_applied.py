"""The last-applied configuration, which kubectl and Argo CD store in an annotation."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Object, fields
from whysync.kubernetes.api import pointer

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
LAST_APPLIED_POINTER: Final = pointer.join(("metadata", "annotations", LAST_APPLIED))

_decoder: Final[msgspec.json.Decoder[Object]] = msgspec.json.Decoder(dict)


def last_applied_text(obj: Object) -> str | None:
    annotation = fields(fields(obj.get("metadata")).get("annotations")).get(LAST_APPLIED)
    return annotation if isinstance(annotation, str) else None


def last_applied(obj: Object) -> Object | None:
    """The object in the last-applied annotation; `None` if it is missing or invalid."""
    annotation = last_applied_text(obj)
    return None if annotation is None else parse(annotation)


def parse(text: str) -> Object | None:
    """The object in the text of an annotation; `None` without a kind, as upstream."""
    try:
        tree = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return tree if isinstance(tree.get("kind"), str) and tree["kind"] else None


def without_last_applied(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if LAST_APPLIED not in annotations:
        return obj
    others = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return {**obj, "metadata": {**meta, "annotations": others}}

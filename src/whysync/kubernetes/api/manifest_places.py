"""Where the objects of a manifest file are: document, position inside a List, line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.api.yaml import Broken

_DEEPEST_LIST = 4


class ManifestPlace(NamedTuple):
    """The position of an object in a file: its document, and its path inside it (for items of a List)."""

    path: str
    document: int
    inside: tuple[str, ...]
    body: Object
    line: int

    @property
    def ref(self) -> Ref:
        return ref_of(self.body)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def places_in(path: str, data: bytes | str) -> Iterator[ManifestPlace]:
    """The objects of one file; nothing from one that cannot be read, such as a template."""
    number = 0
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            return  # what follows cannot be counted, and so not be edited
        if document.body is None:
            continue
        for inside, body in _unfolded(document.body, (), 0):
            yield ManifestPlace(path, number, inside, body, document.line)
        number += 1


def _unfolded(value: Json, inside: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Object]]:
    body = fields(value)
    if text(body.get("kind")).endswith("List") and isinstance(body.get("items"), list):
        if depth < _DEEPEST_LIST:
            for number, item in enumerate(items(body.get("items"))):
                yield from _unfolded(item, (*inside, "items", str(number)), depth + 1)
    elif body.get("kind") and isinstance(body.get("metadata"), dict):
        yield inside, body

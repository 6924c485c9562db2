"""Positions of objects in a manifest file: document, path inside a List, line."""

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
    """The objects of one file; none for a file that is not YAML, such as a template."""
    number = 0
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            return  # later documents have no known number
        if document.body is None:
            continue
        for inside, body in _objects_in(document.body, (), 0):
            yield ManifestPlace(path, number, inside, body, document.line)
        number += 1


def _objects_in(value: Json, inside: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Object]]:
    body = fields(value)
    if text(body.get("kind")).endswith("List") and isinstance(body.get("items"), list):
        if depth < _DEEPEST_LIST:
            for number, item in enumerate(items(body.get("items"))):
                yield from _objects_in(item, (*inside, "items", str(number)), depth + 1)
    elif body.get("kind") and isinstance(body.get("metadata"), dict):
        yield inside, body

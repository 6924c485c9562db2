"""Remove one document from a YAML file; the others are kept byte for byte."""

from __future__ import annotations

import re

from whysync.json_tree import Json, same
from whysync.kubernetes.api.yaml import Document, documents

_MARK = re.compile(r"---(?:[ \t].*)?\r?\n?")
"""A document separator; at the start of a line it is one even inside a block scalar."""


def without_document(text: str, number: int) -> str | None:
    """The text without a document; `number` counts non-empty documents from 0. `None` if this is not safe."""
    pieces = _pieces(text)
    at = -1
    for index, piece in enumerate(pieces):
        held = _bodies(piece)
        if held is None or len(held) > 1:
            return None
        at += len(held)
        if held and at == number:
            after = "".join(pieces[:index] + pieces[index + 1 :])
            return after if _is_without(text, after, number) else None
    return None


def _pieces(text: str) -> list[str]:
    """The documents as text, each with its separator."""
    pieces: list[str] = [""]
    for line in text.splitlines(keepends=True):
        if _MARK.fullmatch(line) and pieces[-1]:
            pieces.append("")
        pieces[-1] += line
    return pieces


def _is_without(before: str, after: str, number: int) -> bool:
    """Parse the result: was nothing else removed or changed?"""
    wanted, found = _bodies(before), _bodies(after)
    if wanted is None or found is None:
        return False
    del wanted[number]
    return len(wanted) == len(found) and all(map(same, wanted, found))


def _bodies(text: str) -> list[Json] | None:
    found: list[Json] = []
    for document in documents(text):
        if not isinstance(document, Document):
            return None
        if document.body is not None:
            found.append(document.body)
    return found

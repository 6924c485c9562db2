"""Find the line and column of a field, only for reported fields; each document is parsed once."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from whysync.fixes.yaml_edit.nodes import Node, Shape, unreadable_nodes, written_documents
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.yaml.errors import Invalid
from whysync.manifests.files import File


class Position(NamedTuple):
    """From 1."""

    line: int
    column: int


class Lines:
    def __init__(self, file: File) -> None:
        self._file = file
        self._starts: list[int] | None = None
        self._roots: dict[int, tuple[Node, int] | None] = {}

    def position(self, document: int, pointer: str) -> Position:
        """The position of the field, or of its nearest parent that is written."""
        first = self._file.documents[document].line if document < len(self._file.documents) else 1
        root = self._root(document)
        if root is None:
            return Position(first, 1)
        node, offset = root
        at = node.start
        for part in split(pointer):
            if node.shape is Shape.MAP and (entry := node.entry(part)) is not None:
                at, node = entry[0].start, entry[1]
            elif (
                node.shape is Shape.LIST
                and part.isdecimal()
                and len(part) < 7
                and int(part) < len(node.items)
            ):
                node = node.items[int(part)]
                at = node.start
            else:
                break
        starts = self._line_starts()
        line = bisect_right(starts, offset + at)
        return Position(line, offset + at - starts[line - 1] + 1)

    def _root(self, document: int) -> tuple[Node, int] | None:
        if document not in self._roots:
            self._roots[document] = self._read(document)
        return self._roots[document]

    def _read(self, document: int) -> tuple[Node, int] | None:
        """Only this document: an invalid one in the same file does not matter."""
        documents = self._file.documents
        if document >= len(documents):
            return None
        starts = self._line_starts()
        begin = starts[min(documents[document].line - 1, len(starts) - 1)]
        end = len(self._file.text)
        if document + 1 < len(documents):
            end = starts[min(documents[document + 1].line - 1, len(starts) - 1)]
        if end <= begin:  # several on one line
            begin, end = 0, len(self._file.text)
        try:
            nodes = written_documents(self._file.text[begin:end])
        except (unreadable_nodes(), Invalid, UnicodeError):
            return None
        return (nodes[0], begin) if nodes else None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts, at = [0], self._file.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self._file.text.find("\n", at + 1)
            self._starts = starts
        return self._starts

"""Positions of all values in a text: the events of libyaml as a tree with offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import cast

import msgspec

from whysync.kubernetes.api.yaml.errors import Invalid
from whysync.kubernetes.api.yaml.scalars import as_key, plain, tagged


class Shape(Enum):
    MAP = "map"
    LIST = "list"
    SCALAR = "scalar"
    ALIAS = "alias"


class Node(msgspec.Struct):
    """A value in the text; `start` and `end` exclude blanks and comments after it.

    `column` is the column of the keys of a block map or the dashes of a block list. `style` is the quote of a
    scalar, or `|` and `>`. A node with `properties` has an anchor or a tag.
    """

    shape: Shape
    start: int
    end: int
    column: int = 0
    flow: bool = False
    style: str = ""
    properties: bool = False
    value: str = ""
    entries: list[tuple[Node, Node]] = msgspec.field(default_factory=list["tuple[Node, Node]"])
    items: list[Node] = msgspec.field(default_factory=list["Node"])

    def entry(self, key: str) -> tuple[Node, Node] | None:
        """The entry of a key; the last of several equal keys is effective."""
        return next((entry for entry in reversed(self.entries) if entry[0].value == key), None)

    def at(self, path: tuple[str, ...]) -> Node | None:
        """The node of a value; `None` if it does not exist or is an alias."""
        node: Node | None = self
        for part in path:
            if node is None:
                return None
            if node.shape is Shape.MAP:
                entry = node.entry(part)
                node = entry[1] if entry else None
            elif node.shape is Shape.LIST and part.isdecimal() and int(part) < len(node.items):
                node = node.items[int(part)]
            else:
                return None
        return node


def unreadable_nodes() -> type[Exception]:
    """The exceptions of libyaml, imported only when a text is parsed."""
    from yaml import YAMLError

    return YAMLError


def written_documents(text: str) -> list[Node]:
    """One node per non-empty document. A byte order mark must already be removed."""
    from yaml._yaml import CParser

    parser = CParser(text)
    try:
        return list(_Composer(text, cast("Callable[[], object]", parser.get_event)).documents())
    finally:
        parser.dispose()


class _Composer:
    def __init__(self, text: str, next_event: Callable[[], object]) -> None:
        self.text = text
        self.next_event = next_event

    def documents(self) -> Iterator[Node]:
        from yaml.events import NodeEvent, StreamEndEvent

        while True:
            event = self.next_event()
            if event is None or isinstance(event, StreamEndEvent):
                return
            if isinstance(event, NodeEvent):
                node = self._node(event, depth=0)
                if not _is_empty(node):
                    yield node

    def _node(self, event: object, *, depth: int) -> Node:
        from yaml.events import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

        if depth > 256:
            raise Invalid("it is nested too deeply")
        start, end, column = _marks(event)
        if isinstance(event, AliasEvent):
            return Node(Shape.ALIAS, start, end)
        if isinstance(event, ScalarEvent):
            style = event.style or ""
            if style in ("|", ">"):
                end = self._end_of_block(start, end)
            properties = event.anchor is not None or event.tag is not None
            return Node(
                Shape.SCALAR,
                start,
                end,
                column,
                style=style,
                properties=properties,
                value=_key(event.tag, event.value, implicit=bool(event.implicit[0])),
            )
        if isinstance(event, MappingStartEvent):
            node = Node(Shape.MAP, start, end, column, flow=bool(event.flow_style))
            node.properties = event.anchor is not None or event.tag is not None
            self._fill_map(node, depth)
            return node
        if isinstance(event, SequenceStartEvent):
            node = Node(Shape.LIST, start, end, column, flow=bool(event.flow_style))
            node.properties = event.anchor is not None or event.tag is not None
            self._fill_list(node, depth)
            return node
        raise Invalid("an event that no document has")

    def _fill_map(self, node: Node, depth: int) -> None:
        from yaml.events import MappingEndEvent

        while not isinstance(event := self.next_event(), MappingEndEvent):
            key = self._node(event, depth=depth + 1)
            node.entries.append((key, self._node(self.next_event(), depth=depth + 1)))
        if node.flow:
            node.end = _marks(event)[1]
        elif node.entries:
            node.end = max(node.entries[-1][1].end, node.entries[-1][0].end)
            if node.properties:
                first = node.entries[0][0].start
                node.column = first - (self.text.rfind("\n", 0, first) + 1)

    def _fill_list(self, node: Node, depth: int) -> None:
        from yaml.events import SequenceEndEvent

        while not isinstance(event := self.next_event(), SequenceEndEvent):
            node.items.append(self._node(event, depth=depth + 1))
        if node.flow:
            node.end = _marks(event)[1]
        elif node.items:
            node.end = node.items[-1].end

    def _end_of_block(self, start: int, end: int) -> int:
        """The end of a block scalar: libyaml includes the blank lines after it, which only belong to `|+`."""
        head = self.text[start:end].partition("\n")[0].partition("#")[0]
        if "+" in head:
            return end
        return start + len(self.text[start:end].rstrip())


def _marks(event: object) -> tuple[int, int, int]:
    start, end = getattr(event, "start_mark", None), getattr(event, "end_mark", None)
    if start is None or end is None:
        raise Invalid("the parser does not say where it is")
    return cast("int", start.index), cast("int", end.index), cast("int", start.column)


def _key(tag: str | None, value: str, *, implicit: bool) -> str:
    """The text of a map key; scalars that are not keys do not need one."""
    try:
        if tag is not None:
            return as_key(tagged(tag, value))
        return as_key(plain(value)) if implicit else value
    except Invalid:
        return value


def _is_empty(node: Node) -> bool:
    return node.shape is Shape.SCALAR and not node.style and node.value in ("", "~", "null", "Null", "NULL")

"""Rewrite a YAML text so that one of its documents has another value; only what differs is edited.

Comments, order, indentation, quotes and line endings are kept where the value is. The result is parsed and
compared: a text that cannot be edited safely (anchors, merge keys) is refused.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import NamedTuple

from whysync.fixes.yaml_edit.alignment import aligned
from whysync.fixes.yaml_edit.flow import FlowEditing
from whysync.fixes.yaml_edit.nodes import Node, Shape, unreadable_nodes, written_documents
from whysync.fixes.yaml_edit.rendering import (
    block_lines,
    entry_lines,
    flow_text,
    indented,
    item_lines,
    scalar_text,
)
from whysync.fixes.yaml_edit.script import Script, Uneditable
from whysync.json_tree import Json, Missing, copy, same
from whysync.kubernetes.api import pointer
from whysync.kubernetes.api.yaml import Broken, documents
from whysync.kubernetes.api.yaml.errors import Invalid

__all__ = ["Rewriting", "Uneditable", "rewritten"]


def rewritten(text: str, document: int, after: Json) -> str:
    """The text in which the n-th non-empty document is `after`; raises `Uneditable` if that is not safe."""
    rewriting = Rewriting(text)
    rewriting.change(document, (), after)
    return rewriting.text()


class Rewriting:
    """Several changes of one text: it is parsed once, and the result is checked once."""

    def __init__(self, text: str) -> None:
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._text = text.removeprefix("\ufeff")
        self._before = _values(self._text)
        self._empty = Script(self._text)
        self._changes: dict[tuple[int, tuple[str, ...]], tuple[Script, Json]] = {}
        self._dashes: dict[int, list[int]] = {}

    def change(self, document: int, path: tuple[str, ...], after: Json) -> None:
        """Set the value at `inside` of a document, replacing an earlier change of the same place.

        Places must not contain each other. After `Uneditable` the earlier change is still in effect.
        """
        if document >= len(self._before):
            raise Uneditable("the document is not there any more")
        before = self._value(document, path)
        script = self._empty.combined()
        if not same(before, after):
            node, spot, in_flow = self._node(document, path)
            editor = _Editor(script, hang=self._hangs[document])
            if in_flow:
                editor.change_in_flow(node, before, after)
            else:
                editor.change(node, before, after, spot)
        self._changes[document, path] = script, after

    def reset(self) -> None:
        """Discard all changes."""
        self._changes.clear()

    def text(self) -> str:
        """The text with all changes; raises `Uneditable` if it would not be parsed as intended."""
        scripts = [script for script, _ in self._changes.values() if not script.is_empty]
        if not scripts:
            return self._mark + self._text
        result = self._empty.combined(*scripts).applied()
        expected, read_back = self._expected(), _values(result)
        if len(read_back) != len(expected) or not all(map(same, read_back, expected)):
            raise Uneditable("it is written in a way that cannot be changed without rewriting it")
        return self._mark + result

    def _expected(self) -> list[Json]:
        expected = list(self._before)
        copied: set[int] = set()
        for (document, path), (_, after) in self._changes.items():
            if not path:
                expected[document] = after
                continue
            if document not in copied:
                copied.add(document)
                expected[document] = copy(expected[document])
            above = pointer.resolve(expected[document], pointer.join(path[:-1]))
            if isinstance(above, list):
                above[int(path[-1])] = after
            elif isinstance(above, dict):
                above[path[-1]] = after
        return expected

    def _value(self, document: int, path: tuple[str, ...]) -> Json:
        value = pointer.resolve(self._before[document], pointer.join(path))
        if isinstance(value, Missing):
            raise Uneditable("the object is not there any more")
        return value

    def _node(self, document: int, path: tuple[str, ...]) -> tuple[Node, _Spot, bool]:
        """The node at a place, its position, and whether it is inside braces or brackets."""
        node, spot, in_flow = self._nodes[document], _Spot(), False
        for part in path:
            in_flow = in_flow or node.flow
            entry = node.entry(part)
            if entry is not None:
                spot = _Spot(key=entry[0], column=node.column)
                node = entry[1]
            elif part.isdecimal() and int(part) < len(node.items):
                spot = _Spot() if in_flow else _Spot(dash=self._dashes_of(node)[int(part)])
                node = node.items[int(part)]
            else:
                raise Uneditable("an alias (*name) or a merge key (<<) brings the object in")
        return node, spot, in_flow

    def _dashes_of(self, node: Node) -> list[int]:
        if id(node) not in self._dashes:
            self._dashes[id(node)] = _Editor(self._empty, hang=False).dashes(node)
        return self._dashes[id(node)]

    @cached_property
    def _hangs(self) -> list[bool]:
        return [_hangs(node) for node in self._nodes]

    @cached_property
    def _nodes(self) -> list[Node]:
        try:
            nodes = written_documents(self._text)
        except (unreadable_nodes(), Invalid) as problem:
            raise Uneditable("its YAML cannot be taken apart") from problem
        if len(nodes) != len(self._before):
            raise Uneditable("its documents cannot be told apart")
        return nodes


def _values(text: str) -> list[Json]:
    values: list[Json] = []
    for document in documents(text):
        if isinstance(document, Broken):
            raise Uneditable(f"it is not valid YAML: {document}")
        if document.body is not None:
            values.append(document.body)
    return values


def _hangs(node: Node) -> bool:
    """Does this document indent lists below their keys?"""
    queue = deque([node])
    while queue:
        current = queue.popleft()
        for _, value in current.entries:
            if value.shape is Shape.LIST and not value.flow and not current.flow and value.items:
                return value.column > current.column
        queue += [*(value for _, value in current.entries), *current.items]
    return False


class _Spot(NamedTuple):
    """Position of a value: after a key of a block map, after a dash, or (neither) a whole document."""

    key: Node | None = None
    column: int = 0
    dash: int | None = None


class _Editor:
    def __init__(self, script: Script, *, hang: bool) -> None:
        self.text = script.text
        self.hang = hang
        self.script = script
        self.flow = FlowEditing(self.script)

    def change(self, node: Node, before: Json, after: Json, spot: _Spot) -> None:
        if same(before, after):
            return
        if node.shape is Shape.ALIAS:
            raise Uneditable("an alias (*name) stands for the value there")
        if isinstance(before, dict) and isinstance(after, dict) and before and after and node.entries:
            self._map(node, before, after, spot)
        elif isinstance(before, list) and isinstance(after, list) and before and after and node.items:
            self._list(node, before, after)
        else:
            self._replace(node, after, spot)

    # --- maps --------------------------------------------------------------------------------------

    def _map(self, node: Node, before: dict[str, Json], after: dict[str, Json], spot: _Spot) -> None:
        if any(key.shape is not Shape.SCALAR for key, _ in node.entries):
            raise Uneditable("it has keys that are no plain words")
        own = {key.value for key, _ in node.entries}
        removed = {key for key in before if key not in after}
        if removed >= own:
            self._replace(node, after, spot)
            return
        changed = {key for key in before.keys() & after.keys() if not same(before[key], after[key])}
        if (removed | changed) - own:
            raise Uneditable("a merge key (<<) brings the field in")
        added = {key: value for key, value in after.items() if key not in before}
        if node.flow:
            self.flow.map(node, before, after, self.change_in_flow)
            return
        entries_by_name = {
            key.value: (key, value) for key, value in node.entries
        }  # the last of equal keys is effective
        for name in before:
            if name in changed:
                key, value = entries_by_name[name]
                self.change(value, before[name], after[name], _Spot(key=key, column=node.column))
        spans = [(key.start, max(key.end, value.end)) for key, value in node.entries]
        self._remove(spans, [number for number, (key, _) in enumerate(node.entries) if key.value in removed])
        lines = [line for key, value in added.items() for line in entry_lines(key, value, hang=self.hang)]
        if lines:
            self.script.add_below(spans[-1][1], indented(lines, " " * node.column))

    def change_in_flow(self, node: Node, before: Json, after: Json) -> None:
        """A value inside braces or brackets, where everything is written as JSON."""
        if same(before, after):
            return
        if node.shape is Shape.ALIAS:
            raise Uneditable("an alias (*name) stands for the value there")
        if isinstance(before, dict) and isinstance(after, dict) and before and after and node.entries:
            self._map(node, before, after, _Spot())
        elif isinstance(before, list) and isinstance(after, list) and before and after and node.items:
            self._list(node, before, after)
        else:
            self.flow.replace(node, after)

    def _remove(self, spans: list[tuple[int, int]], numbers: list[int]) -> None:
        """Remove whole lines if an element has its own; the first may be on the line of a dash."""
        starts_behind_dash = not self.script.is_first_on_line(spans[0][0])
        for number in numbers:
            if starts_behind_dash and number == 0:
                following = next(n for n in range(len(spans)) if n not in numbers)
                between = self.text[spans[following - 1][1] : spans[following][0]]
                if "#" in between:  # a comment would be removed too: keep the dash alone on its line
                    self.script.cut_to_end_of_line(spans[0][0], spans[following - 1][1])
                else:
                    self.script.replace(spans[0][0], spans[following][0], "")
                numbers = [n for n in numbers if n > following]
                for rest in numbers:
                    self.script.cut_lines(*spans[rest])
                return
            self.script.cut_lines(*spans[number])

    # --- lists -------------------------------------------------------------------------------------

    def _list(self, node: Node, before: list[Json], after: list[Json]) -> None:
        if node.flow:
            self.flow.list(node, before, after, self.change_in_flow)
            return
        dashes = self.dashes(node)
        spans = [(dash, max(item.end, dash + 1)) for dash, item in zip(dashes, node.items, strict=True)]
        removed: list[int] = []
        for number, old, new in aligned(before, after):
            if isinstance(old, Missing):
                self._insert(node.column, spans, number, [item_lines(value, hang=self.hang) for value in new])
            elif not new:
                removed.append(number)
            else:
                self.change(node.items[number], old, new[0], _Spot(dash=dashes[number]))
        self._remove(spans, removed)

    def _insert(self, column: int, spans: list[tuple[int, int]], number: int, items: list[list[str]]) -> None:
        lines = indented([line for item in items for line in item], " " * column)
        if number:
            self.script.add_below(spans[number - 1][1], lines)
        else:
            first = spans[0][0]
            text = self.script.newline.join(lines)[column:] + self.script.newline + " " * column
            self.script.replace(first, first, text)

    def dashes(self, node: Node) -> list[int]:
        """The first dash may follow another one; each of the others starts a line."""
        offsets: list[int] = []
        for number, item in enumerate(node.items):
            if number == 0 and not node.properties:
                offsets.append(node.start)
                continue
            at = self.script.line_below(node.items[number - 1].end if number else node.start)
            while at <= item.start:
                line = self.text[at : self.script.end_of_line(at)]
                indent = len(line) - len(line.lstrip(" "))
                if line[indent : indent + 1] == "-" and (number == 0 or indent == node.column):
                    node.column = indent
                    offsets.append(at + indent)
                    break
                at = self.script.line_below(at)
            else:
                raise Uneditable("the elements of a list cannot be told apart")
        return offsets

    # --- replace a value ---------------------------------------------------------------------------

    def _replace(self, node: Node, after: Json, spot: _Spot) -> None:
        if spot.key is not None:
            self._behind_key(node, after, spot.key, spot.column)
        elif spot.dash is not None:
            self._behind_dash(node, after, spot.dash)
        elif node.flow:
            self.script.replace(node.start, node.end, flow_text(after))
        else:
            lines = block_lines(after, hang=self.hang)
            self.script.replace(node.start, node.end, self.script.newline.join(lines))

    def _behind_key(self, node: Node, after: Json, key: Node, column: int) -> None:
        colon = self.text.find(":", key.end) + 1
        empty = node.start == node.end
        on_key_line = empty or "\n" not in self.text[colon : node.start]
        if isinstance(after, dict | list) and after:
            deeper = isinstance(after, dict) or self.hang
            lines = indented(block_lines(after, hang=self.hang), " " * (column + 2 if deeper else column))
            if on_key_line:
                self.script.replace(colon, max(colon, node.end), "")
                self.script.add_below(max(colon, node.end), lines)
            else:
                start = self.script.start_of_line(node.start)
                self.script.replace(start, node.end, self.script.newline.join(lines))
            return
        first, *rest = scalar_text(after, like=node.style, indent=" " * (column + 2)).split("\n")
        if not on_key_line and node.shape is not Shape.SCALAR:
            self.script.replace(colon, colon, f" {first}")
            self.script.cut_lines(node.start, node.end)
            self.script.add_below(colon, rest)
            return
        if node.style in ("|", ">"):
            head = self.text[node.start : self.script.end_of_line(node.start)].rstrip("\r")
            comment = head[head.index(" #") :] if " #" in head else ""
            end = node.end
            self.script.replace(node.start, end, self.script.newline.join([first + comment, *rest]))
            return
        self.script.replace(colon if empty else node.start, node.end, f" {first}" if empty else first)
        self.script.add_below(max(colon, node.end), rest)

    def _behind_dash(self, node: Node, after: Json, dash: int) -> None:
        empty = node.start == node.end
        at = dash + 1 if empty else node.start
        column = (dash - self.script.start_of_line(dash) + 2) if empty else self._column(node.start)
        if isinstance(after, dict | list) and after:
            first, *rest = block_lines(after, hang=self.hang)
            rest = indented(rest, " " * column)
        else:
            first, *rest = scalar_text(after, like=node.style, indent=" " * column).split("\n")
        # A comment after the old value stays after the first line of the new one.
        self.script.replace(at, max(at, node.end), f" {first}" if empty else first)
        self.script.add_below(max(at, node.end), rest)

    def _column(self, at: int) -> int:
        return at - self.script.start_of_line(at)

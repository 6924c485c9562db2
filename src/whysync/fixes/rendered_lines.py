"""Find where a field of a rendered object is written: in a template, a base, a patch or a kustomization.

Templates are not YAML, so a field is found by the names of its keys, from the outside to the inside. If a
part of the path is not written literally, the nearest parent that is found counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from whysync.fixes.lines import Lines, Position
from whysync.json_tree import Json, Missing, Object, fields, same, text
from whysync.kubernetes.api.pointer import join, resolve, split
from whysync.manifests.files import File, Item

_DIRECTIVES = ("{{", "}}")


class TemplatePosition(NamedTuple):
    """`is_literal`: the template contains all keys, and a scalar value, as they were rendered.

    `is_fixed`: in addition, nothing in the document of the template depends on values.
    """

    line: int
    column: int
    is_literal: bool
    is_fixed: bool


def in_template(template: str, body: Object, pointer: str) -> TemplatePosition:
    lines = template.split("\n")
    begin, end = _document(lines, text(body.get("kind")), text(fields(body.get("metadata")).get("name")))
    at, indent = _first_line(lines, begin, end), -1
    node: Json | Missing = body
    complete = True
    for part in split(pointer):
        found = (
            _element(lines, at, end, indent, node, part)
            if isinstance(node, list)
            else _key(lines, at, end, indent, part)
        )
        node = resolve(node, join((part,)))
        if found is None:
            complete = False
            break
        at, indent = found
    is_literal = complete and _is_written(lines[at] if at < len(lines) else "", node)
    is_fixed = is_literal and not any(
        mark in line for line in lines[begin:end] for mark in (".Values", "toYaml", "tpl ")
    )
    line = lines[at] if at < len(lines) else ""
    return TemplatePosition(at + 1, len(line) - len(line.lstrip(" -")) + 1, is_literal, is_fixed)


def _document(lines: Sequence[str], kind: str, name: str) -> tuple[int, int]:
    """The lines between the `---` around the object of this kind; of several, the one with this name."""
    starts = [0, *(number + 1 for number, line in enumerate(lines) if line.startswith("---"))]
    documents = list(zip(starts, [*(start - 1 for start in starts[1:]), len(lines)], strict=True))
    of_kind = re.compile(rf"kind:\s*[\"']?{re.escape(kind)}[\"']?\s*$")
    named = re.compile(rf"\s+name:\s*[\"']?{re.escape(name)}[\"']?\s*$")
    matching = [
        (begin, end) for begin, end in documents if any(of_kind.match(line) for line in lines[begin:end])
    ]
    exact = [(begin, end) for begin, end in matching if any(named.match(line) for line in lines[begin:end])]
    if len(matching) == 1 or exact:
        return (exact or matching)[0]
    return (matching[0][0], matching[-1][1]) if matching else (0, len(lines))


def _first_line(lines: Sequence[str], begin: int, end: int) -> int:
    """The first line of the object: its apiVersion or kind, or what is neither empty nor a comment."""
    for number in range(begin, end):
        if lines[number].startswith(("apiVersion:", "kind:")):
            return number
    for number in range(begin, end):
        if lines[number].strip() and not lines[number].lstrip().startswith(("#", "{{")):
            return number
    return begin


def _key(lines: Sequence[str], at: int, end: int, indent: int, key: str) -> tuple[int, int] | None:
    """The next line with this key that is deeper than its parent, before the parent ends."""
    pattern = re.compile(rf"([ -]*)[\"']?{re.escape(key)}[\"']?\s*:(?:\s|$)")
    best: tuple[int, int] | None = None
    for number in range(at, end):
        line = lines[number]
        match = pattern.match(line)
        depth = len(match.group(1)) if match else 0
        if match and depth > indent and (best is None or depth < best[1]):
            best = number, depth
            if indent < 0 and depth == 0:
                return best
        elif number > at and _closes(line, indent):
            break
    return best


def _closes(line: str, indent: int) -> bool:
    """Does this line belong to a parent? Directives of the template have any indentation."""
    stripped = line.lstrip(" -")
    if not stripped or stripped.startswith(("#", "{{")):
        return False
    return len(line) - len(stripped) <= indent and not line.lstrip().startswith("-")


def _element(
    lines: Sequence[str], at: int, end: int, indent: int, node: Json | Missing, part: str
) -> tuple[int, int] | None:
    """The line of an element of a list: by its name, else by counting dashes if nothing is repeated."""
    element = resolve(node, f"/{part}") if isinstance(node, list) else None
    name = element.get("name") if isinstance(element, dict) else None
    dashes: list[tuple[int, int]] = []
    for number in range(at + 1, end):
        line = lines[number]
        if _closes(line, indent):
            break
        stripped = line.lstrip(" ")
        depth = len(line) - len(stripped)
        if stripped.startswith("- ") and depth >= indent and (not dashes or depth == dashes[0][1]):
            dashes.append((number, depth))
    if isinstance(name, str):
        named = re.compile(rf"[ -]*name:\s*[\"']?{re.escape(name)}[\"']?\s*$")
        for (begin, depth), (stop, _) in zip(dashes, [*dashes[1:], (end, 0)], strict=False):
            if any(named.match(line) for line in lines[begin:stop]):
                return begin, depth
    position = int(part) if part.isdecimal() and len(part) < 7 else len(dashes)
    repeated = any("{{" in lines[number] and "range" in lines[number] for number in range(at, end))
    return dashes[position] if position < len(dashes) and not repeated else None


def _is_written(line: str, value: Json | Missing) -> bool:
    if any(mark in line for mark in _DIRECTIVES):
        return False
    if isinstance(value, dict | list | Missing) or value is None:
        return True
    written = line.partition(":")[2] if ":" in line else line.lstrip(" -")
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return written.strip().strip("\"'").startswith(shown[:40])


class KustomizedLines:
    """Positions in the files of a kustomization: the base that has the field, else the patch that adds it."""

    def __init__(self, files: Mapping[str, File], items: Mapping[str, list[Item]]) -> None:
        self._files = files
        self._items = items
        self._lines: dict[str, Lines] = {}

    def position(
        self,
        body: Object,
        pointer: str,
        origin: str,
        patches: Sequence[str],
        kustomizations: Sequence[str],
        *,
        is_in_base: bool = True,
    ) -> tuple[str, Position]:
        """The path and the position; at least the kustomization itself, which is the first of its list.

        `is_in_base`: the base has the error too. Otherwise a patch of the object, if there is one, causes it.
        """
        value = resolve(body, pointer)
        base = _same_object(self._items.get(origin, ()), body)
        if base is not None and not is_in_base:
            for path in patches:
                if (position := self._patch_of(path, base, body, split(pointer))) is not None:
                    return path, position
        in_base = (_pointer_in(base.body, body, split(pointer)) if base is not None else None) or pointer
        if base is not None and same(resolve(base.body, in_base), value):
            return origin, self._of(base.file).position(base.document, join(base.inside) + in_base)
        key = split(pointer)[-1] if pointer else ""
        positions = [
            (path, *found)
            for path in (*patches, *kustomizations)
            if (found := self._line_with(path, key, value)) is not None
        ]
        for path, position, _ in sorted(positions, key=lambda found: not found[2]):
            return path, position
        if base is not None:
            return origin, self._of(base.file).position(base.document, join(base.inside) + in_base)
        if origin in self._files:
            return origin, Position(1, 1)
        return (kustomizations[0] if kustomizations else origin), Position(1, 1)

    def _of(self, file: File) -> Lines:
        if file.path not in self._lines:
            self._lines[file.path] = Lines(file)
        return self._lines[file.path]

    def _patch_of(self, path: str, base: Item, body: Object, parts: Sequence[str]) -> Position | None:
        """A strategic merge patch of the base that has the field or one next to it, at this place."""
        for item in self._items.get(path, ()):
            if (item.ref.kind, item.ref.name) != (base.ref.kind, base.ref.name):
                continue
            pointer = _pointer_in(item.body, body, parts)
            if pointer is not None:
                return self._of(item.file).position(item.document, join(item.inside) + pointer)
        return None

    def _line_with(self, path: str, key: str, value: Json | Missing) -> tuple[Position, bool] | None:
        """A line of a patch that sets this key, and whether to this value."""
        file = self._files.get(path)
        if file is None or not key:
            return None
        escaped = re.escape(key)
        sets = re.compile(rf"""(?:^|[\s"'{{,-]){escaped}["']?\s*:(?:\s|$)|/{escaped}["']?\s*(?:,|$)""")
        shown = "" if isinstance(value, dict | list | Missing) or value is None else str(value)
        first: Position | None = None
        for number, line in enumerate(file.text.split("\n"), start=1):
            if (match := sets.search(line)) and not line.lstrip().startswith("#"):
                position = Position(number, line.index(key, match.start()) + 1)
                if shown and shown in line:
                    return position, True
                first = first or position
        return None if first is None else (first, False)


def _pointer_in(written: Json | Missing, rendered: Json | Missing, parts: Sequence[str]) -> str | None:
    """The same field in a base or patch: its lists may have the named elements in another order.

    Without the last part if it does not have the field itself; `None` if it has nothing there.
    """
    pointer: list[str] = []
    for part in parts[:-1]:
        rendered = resolve(rendered, join((part,)))
        key = part
        if isinstance(written, list) and isinstance(rendered, dict) and rendered.get("name"):
            name = rendered["name"]
            found = [at for at, element in enumerate(written) if fields(element).get("name") == name]
            if not found:
                return None
            key = str(found[0])
        written = resolve(written, join((key,)))
        pointer.append(key)
        if isinstance(written, Missing):
            return None
    exists = not isinstance(resolve(written, join(parts[-1:])), Missing)
    return join([*pointer, *parts[-1:]] if exists else pointer)


def _same_object(items: Iterable[Item], body: Object) -> Item | None:
    """The object of the base: Kustomize may have added a prefix, a suffix and a hash to its name."""
    kind, name = body.get("kind"), text(fields(body.get("metadata")).get("name"))
    of_kind = [item for item in items if item.body.get("kind") == kind]
    named = [item for item in of_kind if item.ref.name == name]
    named = named or [item for item in of_kind if item.ref.name and item.ref.name in name]
    return named[0] if named else of_kind[0] if len(of_kind) == 1 else None

"""The fields of an object that a fix changes, as YAML lines that start with a blank, `-` or `+`.

Only changed fields, the keys above them, and the names of list elements are shown. The file in Git may look
different: it has no line numbers here, and nothing that Argo CD adds when it renders the manifest.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from whysync.fixes.yaml_edit.alignment import aligned
from whysync.fixes.yaml_edit.rendering import entry_lines, indented, item_lines
from whysync.json_tree import MISSING, Json, Missing, Object, dig, same

NAMES = ("name", "key", "mountPath", "containerPort", "port", "host", "ip", "type", "topologyKey")
"""Fields that identify list elements; the first that an element has is used."""
_LONGEST_LIST = 8
_CONTEXT = 3


def fragment(before: Object, after: Object) -> str:
    """The changed fields; empty if nothing changes."""
    return "".join(f"{line}\n" for line in _map(before, after, ""))


def deleted(body: Object) -> str:
    """All lines of an object that a fix deletes."""
    return "".join(
        f"-{line}\n" for key, value in body.items() for line in entry_lines(key, value, hang=False)
    )


def name_of(element: Json) -> Object | None:
    """The field that identifies an element of a list: its name, also below `metadata`, or its port."""
    if not isinstance(element, dict):
        return None
    key = next((key for key in NAMES if key in element), None)
    if key is not None:
        return {key: element[key]}
    name = dig(element, "metadata", "name")
    return {"metadata": {"name": name}} if isinstance(name, str) else None


def _map(before: Object, after: Object, indent: str) -> Iterator[str]:
    for key in [*before, *(key for key in after if key not in before)]:
        yield from _entry(key, before.get(key, MISSING), after.get(key, MISSING), indent)


def _entry(key: str, old: Json | Missing, new: Json | Missing, indent: str) -> Iterator[str]:
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        yield f" {indent}{_head(key)}"
        yield from _map(old, new, f"{indent}  ")
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        yield f" {indent}{_head(key)}"
        yield from _list(old, new, indent)
    else:
        removed = [] if isinstance(old, Missing) else entry_lines(key, old, hang=False)
        added = [] if isinstance(new, Missing) else entry_lines(key, new, hang=False)
        yield from _lines(removed, added, indent)


def _head(key: str) -> str:
    return entry_lines(key, {"": ""}, hang=False)[0]


def _lines(removed: list[str], added: list[str], indent: str) -> Iterator[str]:
    """A value that is replaced; of a long text that stays a text, the lines near the change."""
    removed, added = indented(removed, indent), indented(added, indent)
    if not _is_text(removed) or not _is_text(added) or removed[0] != added[0]:
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    yield f" {removed[0]}"
    diff = list(difflib.unified_diff(removed[1:], added[1:], n=_CONTEXT, lineterm=""))[2:]
    for line in diff:
        if not line.startswith("@@"):
            yield line
        elif not line.startswith("@@ -1"):
            yield f" {indent}  …"


def _is_text(lines: list[str]) -> bool:
    return len(lines) > 1 and lines[0].endswith((" |", " |-", " |+"))


def _list(old: list[Json], new: list[Json], indent: str) -> Iterator[str]:
    if all(not isinstance(item, dict | list) for item in (*old, *new)) and len(old) <= _LONGEST_LIST:
        yield from _scalars(old, new, indent)
        return
    for move in aligned(old, new):
        if isinstance(move.old, Missing):
            yield from (f"+{line}" for item in move.new for line in _item(item, indent))
        elif not move.new:
            yield from (f"-{line}" for line in _item(move.old, indent))
        else:
            yield from _changed_item(move.old, move.new[0], indent)


def _scalars(old: list[Json], new: list[Json], indent: str) -> Iterator[str]:
    before = [line for item in old for line in _item(item, indent)]
    after = [line for item in new for line in _item(item, indent)]
    yield from _all_lines(before, after)


def _all_lines(before: list[str], after: list[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            yield from (f" {line}" for line in before[i:j])
            continue
        yield from (f"-{line}" for line in before[i:j])
        yield from (f"+{line}" for line in after[k:m])


def _changed_item(old: Json, new: Json, indent: str) -> Iterator[str]:
    """Below the name of an element, what changes; an element without a name is shown completely."""
    if isinstance(old, dict) and isinstance(new, dict):
        name = name_of(old)
        is_kept = name is not None and same(name, name_of(new))
        if name is not None and "metadata" in name:
            is_kept = is_kept and same(old["metadata"], new["metadata"])
        if name is not None and is_kept:
            yield from (f" {line}" for line in _item(name, indent))
            yield from _map(old, new, f"{indent}  ")
            return
    yield from _all_lines(_item(old, indent), _item(new, indent))


def _item(item: Json, indent: str) -> list[str]:
    return indented(item_lines(item, hang=False), indent)

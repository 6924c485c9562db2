"""Suppressions: `# whysync: ignore RULE reason` in a comment or in the annotation `whysync.dev/ignore`.

A comment applies to its line; alone on a line, to the next one; before the first field of a document, to the
whole document; `ignore-file` to the file. Without a reason, or with an unknown rule, it has no effect and is
reported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from whysync.diagnosis.finding import Finding
from whysync.json_tree import text
from whysync.manifests.files import File, Item

ANNOTATION: Final = "whysync.dev/ignore"
_COMMENT: Final = re.compile(r"#\s*whysync:\s*(ignore(?:-file)?)\b[ \t]*(.*)$")
_ENTRY: Final = re.compile(r"([A-Za-z0-9_*,-]+)[:\s]*(.*)", re.DOTALL)


class Ignore(NamedTuple):
    """`first` and `last` are lines of the file."""

    rules: tuple[str, ...]
    reason: str
    first: int
    last: int
    line: int
    how: str

    def covers(self, finding: Finding) -> bool:
        return self.first <= finding.line <= self.last and (finding.rule in self.rules or "*" in self.rules)


class BadIgnore(NamedTuple):
    line: int
    why: str


def ignores_in(file: File, rule_ids: Collection[str]) -> tuple[list[Ignore], list[BadIgnore]]:
    """Suppressions in comments."""
    ignores: list[Ignore] = []
    invalid: list[BadIgnore] = []
    if "whysync:" not in file.text:
        return ignores, invalid
    lines = file.text.split("\n")
    starts = [document.line for document in file.documents]
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line) if "whysync:" in line else None
        if match is None:
            continue
        first, last = number, number
        if match.group(1) == "ignore-file":
            first, last = 0, len(lines)
        elif line.lstrip().startswith("#"):
            first, last = _covered_lines(lines, number, starts)
        _parse_entry(
            match.group(2), Ignore((), "", first, last, number, "comment"), rule_ids, ignores, invalid
        )
    return ignores, invalid


def _covered_lines(lines: list[str], number: int, starts: list[int]) -> tuple[int, int]:
    """The line below, after other comments; the whole document if no field comes before it."""
    below = number + 1
    while below <= len(lines) and lines[below - 1].lstrip().startswith("#"):
        below += 1
    for index, start in enumerate(starts):
        if start == below:
            return number, starts[index + 1] - 1 if index + 1 < len(starts) else len(lines)
    return below, below


def ignores_of(item: Item, rule_ids: Collection[str]) -> tuple[list[Ignore], list[BadIgnore]]:
    """Suppressions in the object's annotation, one per line; they cover the whole object."""
    ignores: list[Ignore] = []
    invalid: list[BadIgnore] = []
    for entry in text(item.annotations.get(ANNOTATION)).splitlines():
        if entry.strip():
            _parse_entry(
                entry.strip(), Ignore((), "", 0, sys.maxsize, 0, "annotation"), rule_ids, ignores, invalid
            )
    return ignores, invalid


def _parse_entry(
    entry_text: str,
    template: Ignore,
    rule_ids: Collection[str],
    ignores: list[Ignore],
    invalid: list[BadIgnore],
) -> None:
    match = _ENTRY.match(entry_text.strip())
    if match is None:
        invalid.append(BadIgnore(template.line, "no check is named: use `whysync: ignore CHECK reason`"))
        return
    names = tuple(name for name in match.group(1).split(",") if name)
    unknown = [name for name in names if name != "*" and name not in rule_ids]
    if unknown or not names:
        invalid.append(BadIgnore(template.line, f"there is no check {', '.join(unknown) or '(empty)'}"))
        return
    if not match.group(2).strip():
        invalid.append(BadIgnore(template.line, f"no reason is given for ignoring {', '.join(names)}"))
        return
    ignores.append(template._replace(rules=names, reason=match.group(2).strip()))


def covering(ignores: Iterable[Ignore], finding: Finding) -> Ignore | None:
    return next((ignore for ignore in ignores if ignore.covers(finding)), None)

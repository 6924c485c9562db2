"""`lint --fix`: apply the edits that keep the meaning of a file, and keep the rest of it unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Edit
from whysync.fixes.edit import edited
from whysync.fixes.yaml_edit import Rewriting, Uneditable
from whysync.json_tree import Missing, fields
from whysync.kubernetes.api import pointer
from whysync.manifests.files import File

# If group edits are impossible, smaller groups are tried. The number of tries is bounded, so that the time
# stays linear in the size of the file; findings that are left over are not fixed.
_MAX_TRIES_PER_OBJECT: Final = 200
_MAX_TRIES_PER_FILE: Final = 40

_Place = tuple[int, tuple[str, ...]]
"""An object of a file: the number of its document, and its position in it (a List contains several)."""


def fixed(file: File, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """The text after all safe edits that are possible, and the findings that they fix."""
    try:
        return _FileFixer(file).fixed(findings)
    except Uneditable:
        return file.text, []


class _FileFixer:
    def __init__(self, file: File) -> None:
        self._documents = [document.body for document in file.documents if document.body is not None]
        self._rewriting = Rewriting(file.text)
        self._text = file.text
        # Empty documents are not counted in a rewriting.
        filled = (n for n, document in enumerate(file.documents) if document.body is not None)
        self._numbers = {number: n for n, number in enumerate(filled)}

    def fixed(self, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
        possible: list[Finding] = []
        for place, own in self._by_place(findings).items():

            def can_be_written(group: list[Finding], place: _Place = place) -> bool:
                return self._change(place, group)

            possible += _largest_fixable(own, can_be_written, _MAX_TRIES_PER_OBJECT)
        fixable = _largest_fixable(possible, self._can_be_read_back, _MAX_TRIES_PER_FILE)
        return self._text, fixable

    def _by_place(self, findings: Iterable[Finding]) -> dict[_Place, list[Finding]]:
        by_place: defaultdict[_Place, list[Finding]] = defaultdict(list)
        for finding in findings:
            location = finding.location
            number = self._numbers.get(location.document) if location else None
            if location is not None and number is not None and _edits(finding):
                by_place[number, location.inside].append(finding)
        return by_place

    def _change(self, place: _Place, findings: list[Finding]) -> bool:
        document, path = place
        value = pointer.resolve(self._documents[document], pointer.join(path))
        body = fields(None if isinstance(value, Missing) else value)
        edits = (edit for finding in findings for edit in _edits(finding))
        try:
            self._rewriting.change(document, path, edited(body, edits))
        except Uneditable:
            return False
        return True

    def _can_be_read_back(self, findings: list[Finding]) -> bool:
        """If only these findings are fixed, is the result as intended?"""
        self._rewriting.reset()
        if not all(self._change(place, own) for place, own in self._by_place(findings).items()):
            return False
        try:
            self._text = self._rewriting.text()
        except Uneditable:
            return False
        return True


def _edits(finding: Finding) -> list[Edit]:
    """Only those that keep the meaning of the object."""
    return [edit for fix in finding.fixes if fix.keeps_meaning for edit in fix.edits]


def _largest_fixable(
    findings: list[Finding], works: Callable[[list[Finding]], bool], max_tries: int
) -> list[Finding]:
    """As many of the findings as can be fixed together, found by bisection."""
    fixable: list[Finding] = []
    pending = [findings]
    while pending and max_tries:
        max_tries -= 1
        group = pending.pop()
        if works([*fixable, *group]):
            fixable += group
        elif len(group) > 1:
            half = len(group) // 2
            pending += [group[half:], group[:half]]
    return fixable

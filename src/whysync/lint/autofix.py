"""`lint --fix`: apply the edits that keep the meaning of a file, and keep the rest of it unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from whysync.fixes.edit import edited
from whysync.fixes.yaml_edit import Rewriting, Uneditable
from whysync.json_tree import Missing, fields
from whysync.kubernetes.api import pointer
from whysync.manifests.files import File
from whysync.manifests.remark import Remark

# If some edits are impossible, smaller groups are tried. The number of tries is bounded, so that the time
# stays linear in the size of the file; findings that are left over are not fixed.
_MOST_TRIES_AN_OBJECT: Final = 200
_MOST_TRIES_A_FILE: Final = 40

_Place = tuple[int, tuple[str, ...]]
"""An object of a file: the number of its document, and its position in it (a List contains several)."""


def fixed(file: File, remarks: Iterable[Remark]) -> tuple[str, list[Remark]]:
    """The text after all safe edits that are possible, and the remarks that they fix."""
    try:
        return _Fixing(file).fixed(remarks)
    except Uneditable:
        return file.text, []


class _Fixing:
    def __init__(self, file: File) -> None:
        self._documents = [document.body for document in file.documents if document.body is not None]
        self._rewriting = Rewriting(file.text)
        self._text = file.text
        # Empty documents are not counted in a rewriting.
        filled = (n for n, document in enumerate(file.documents) if document.body is not None)
        self._numbers = {number: n for n, number in enumerate(filled)}

    def fixed(self, remarks: Iterable[Remark]) -> tuple[str, list[Remark]]:
        possible: list[Remark] = []
        for place, own in self._by_place(remarks).items():

            def can_be_written(some: list[Remark], place: _Place = place) -> bool:
                return self._change(place, some)

            possible += _largest_part(own, can_be_written, _MOST_TRIES_AN_OBJECT)
        done = _largest_part(possible, self._can_be_read_back, _MOST_TRIES_A_FILE)
        return self._text, done

    def _by_place(self, remarks: Iterable[Remark]) -> dict[_Place, list[Remark]]:
        places: defaultdict[_Place, list[Remark]] = defaultdict(list)
        for remark in remarks:
            if remark.mend is not None and remark.mend.safe and remark.mend.edits:
                number = self._numbers.get(remark.document)
                if number is not None:
                    places[number, remark.inside].append(remark)
        return places

    def _change(self, place: _Place, remarks: list[Remark]) -> bool:
        document, inside = place
        found = pointer.resolve(self._documents[document], pointer.join(inside))
        body = fields(None if isinstance(found, Missing) else found)
        edits = (edit for remark in remarks if remark.mend is not None for edit in remark.mend.edits)
        try:
            self._rewriting.change(document, inside, edited(body, edits))
        except Uneditable:
            return False
        return True

    def _can_be_read_back(self, remarks: list[Remark]) -> bool:
        """If only these remarks are fixed, is the result as intended?"""
        self._rewriting.reset()
        if not all(self._change(place, own) for place, own in self._by_place(remarks).items()):
            return False
        try:
            self._text = self._rewriting.text()
        except Uneditable:
            return False
        return True


def _largest_part(
    remarks: list[Remark], works: Callable[[list[Remark]], bool], most_tries: int
) -> list[Remark]:
    """As many of the remarks as can be fixed together, found by bisection."""
    found: list[Remark] = []
    waiting = [remarks]
    while waiting and most_tries:
        most_tries -= 1
        some = waiting.pop()
        if works([*found, *some]):
            found += some
        elif len(some) > 1:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return found

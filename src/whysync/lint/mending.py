"""`--fix`: carries out the edits that keep the meaning, and leaves the rest of each file as it was."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.contracts.tree import Json, Object, copy, dig, fields
from whysync.fixes.edit import edited
from whysync.fixes.written import Uneditable, rewritten
from whysync.lint.item import File
from whysync.lint.remark import Remark


def mended(file: File, remarks: Iterable[Remark]) -> tuple[str, list[Remark]]:
    """The text after all safe edits that could be made, and the remarks that they answer."""
    written = file.text
    done: list[Remark] = []
    for remark in remarks:
        if remark.mend is None or not remark.mend.safe or not remark.mend.edits or remark.document < 0:
            continue
        body = _document(file, remark, done)
        try:
            written = rewritten(written, remark.document, body)
        except Uneditable:
            continue
        done.append(remark)
    return written, done


def _document(file: File, remark: Remark, done: list[Remark]) -> Json:
    """The document with this edit, and those before it."""
    body = copy(file.documents[remark.document].body)
    for one in (*(other for other in done if other.document == remark.document), remark):
        assert one.mend is not None
        body = _put(body, one.inside, edited(_inside(body, one.inside), one.mend.edits))
    return body


def _inside(body: Json, path: tuple[str, ...]) -> Object:
    return fields(dig(body, *(int(part) if part.isdecimal() else part for part in path)))


def _put(body: Json, path: tuple[str, ...], value: Object) -> Json:
    if not path:
        return value
    above = dig(body, *(int(part) if part.isdecimal() else part for part in path[:-1]))
    if isinstance(above, list):
        above[int(path[-1])] = value
    return body

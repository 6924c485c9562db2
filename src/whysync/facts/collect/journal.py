"""The journal of a collection: which files it wrote, so that an interrupted run can be resumed.

The first line says that the folder belongs to `whysync collect`. Each file is recorded before it is written,
and each piece when all of its files are on the disk. Only recorded files are ever deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from whysync.errors import UsageError
from whysync.facts.snapshot import Gap
from whysync.files import TEMPORARY, append_line, read_file, remove_empty_folders, remove_file, write_file

JOURNAL: Final = "collecting.jsonl"
_FORMAT: Final = "whysync.dev/collect/v1"
# The names that `files.py` creates: below known folders, each part starting with a letter, digit, `_` or `-`.
_COLLECTED_FILE: Final = re.compile(
    r"bundle\.yaml|(applications|projects|settings|desired|live|events|logs|facts|git)(/[\w-][\w.-]*)+",
    re.ASCII,
)


class _Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="header"):
    format: str
    question: str


class _Started(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="begun"):
    """Files that will be written next."""

    files: tuple[str, ...]


class Piece(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", tag="piece"):
    """One piece that is completely on disk: its Applications, its files, its shared objects."""

    apps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    # the folders below live/, and the clusters that they belong to
    clusters: dict[str, str] = {}
    # the highest mask number in it: a later run starts above
    marks: int = 0
    bytes: int = 0
    gaps: tuple[Gap, ...] = ()
    heads: tuple[tuple[str, str, str], ...] = ()
    counts: dict[str, int] = {}
    version: str = ""
    at: datetime | None = None


_Line = _Started | Piece


class Journal:
    """`question` is what is collected and from where; it must be the same to resume.

    Raises `UsageError` for a folder with files that no collection wrote, before anything is changed in it.
    """

    def __init__(self, folder: Path, question: str) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        self.pieces: list[Piece] = []
        self._header = _Header(format=_FORMAT, question=question)
        self._started: dict[str, None] = {}  # in order, each name once
        if os.path.lexists(self.path):
            self._resume()
        else:
            if not is_unused(folder):
                raise foreign(folder, "it is not empty, and has no journal of a collection")
            self._delete(_entries(folder))  # a temporary file of a run that was killed
            write_file(self.path, _text(self._header), mode=0o600, must_be_new=True)

    @property
    def files(self) -> list[str]:
        """All files of the collection, relative to its folder."""
        return sorted(self._started)

    def begin(self, files: Iterable[str]) -> None:
        """Record files before they are written."""
        files = tuple(files)
        append_line(self.path, msgspec.json.encode(_Started(files=files)))
        self._started.update(dict.fromkeys(files))

    def add(self, piece: Piece) -> None:
        append_line(self.path, msgspec.json.encode(piece))
        self.pieces.append(piece)

    def remove(self) -> None:
        remove_file(self.path)

    def discard(self, *, keep_folder: bool) -> None:
        """Delete everything that the collection wrote, the journal last."""
        self._delete(self._started)
        self.remove()
        remove_empty_folders(self.folder, keep_root=keep_folder)

    # --- resuming ----------------------------------------------------------------------------------

    def _resume(self) -> None:
        self._read()
        present = set(_entries(self.folder))
        unknown = sorted(
            name
            for name in present
            if name != JOURNAL and name not in self._started and not _is_temporary(name)
        )
        links = sorted(name for name in present if not _is_regular(self.folder / name))
        if unknown or links:
            raise foreign(
                self.folder, f"it has files that no collection wrote, such as {(unknown or links)[0]}"
            )
        complete = {name for piece in self.pieces for name in piece.files}
        if complete - present:  # a part was deleted: the rest cannot be used
            self.pieces.clear()
            complete = set[str]()
        self._delete(name for name in present if name != JOURNAL and name not in complete)
        self._started = dict.fromkeys(sorted(complete))
        lines = _text(self._header, _Started(files=tuple(self._started)), *self.pieces)
        write_file(self.path, lines, mode=0o600)

    def _read(self) -> None:
        try:
            first, *lines = read_file(self.path, follow=False).split(b"\n")
            header = msgspec.json.decode(first, type=_Header)
        except (OSError, msgspec.MsgspecError, ValueError) as problem:
            raise foreign(self.folder, f"its {JOURNAL} is not a journal of whysync collect") from problem
        if header.format != _FORMAT:
            raise foreign(self.folder, f"its {JOURNAL} was written by another version of whysync")
        if header.question != self._header.question:
            raise UsageError(
                what=f"{self.folder} contains an incomplete collection of something else",
                why=f"it was started with {header.question}, this is {self._header.question}",
                next="choose another path with -o, or delete that one",
            )
        for number, line in enumerate(lines, start=2):
            if number == len(lines) + 1:
                break  # empty, or truncated by a crash: its piece is collected again
            try:
                decoded = msgspec.json.decode(line, type=_Line)
            except (msgspec.MsgspecError, ValueError) as problem:
                raise foreign(self.folder, f"line {number} of its {JOURNAL} is damaged") from problem
            if isinstance(decoded, Piece):
                self.pieces.append(decoded)
            elif all(map(_COLLECTED_FILE.fullmatch, decoded.files)):
                self._started.update(dict.fromkeys(decoded.files))
            else:
                raise foreign(
                    self.folder, f"line {number} of its {JOURNAL} names files that collect never writes"
                )

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            remove_file(self.folder / name)


def is_unused(folder: Path) -> bool:
    """Is the folder empty, apart from the temporary file of a run that was killed at its start?"""
    entries = list(folder.iterdir())
    return len(entries) <= 1 and all(_is_temporary(path.name) and _is_regular(path) for path in entries)


def foreign(folder: Path, why: str) -> UsageError:
    return UsageError(
        what=f"{folder} is not a folder that whysync collect can use",
        why=f"{why}; nothing in it was changed",
        next="name a new folder with -o, or move what is in this one",
    )


def _text(*lines: msgspec.Struct) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _entries(folder: Path) -> Iterator[str]:
    """Everything below a folder that is not a folder itself; links are not followed."""
    for path, folders, names in os.walk(folder, followlinks=False):
        links = [name for name in folders if os.path.islink(os.path.join(path, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(path, name), folder)


def _is_temporary(name: str) -> bool:
    return TEMPORARY.fullmatch(os.path.basename(name)) is not None


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()

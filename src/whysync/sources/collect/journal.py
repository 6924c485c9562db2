"""What is done of a collection, a line for each piece: with it, a run that broke off goes on."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from whysync.errors import UsageError

JOURNAL: Final = "collecting.jsonl"


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One piece that is wholly on the disk: its Applications, its files, the shared objects in it."""

    apps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    # the folders below live/, and whose they are
    clusters: dict[str, str] = {}
    # the highest number of a mark in it: those of a later run begin above
    marks: int = 0
    bytes: int = 0
    gaps: tuple[tuple[str, str, str], ...] = ()
    heads: tuple[tuple[str, str, str], ...] = ()
    counts: dict[str, int] = {}
    version: str = ""
    at: datetime | None = None


class _First(msgspec.Struct, frozen=True, kw_only=True):
    question: str


class Journal:
    """`question` says what is collected from where: the answers of two questions are not one bundle."""

    def __init__(self, folder: Path, question: str) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        self.pieces: list[Piece] = []
        if self.path.exists():
            self._read(question)
            self._remove_loose_files()
        else:
            self._append(_First(question=question))

    def add(self, piece: Piece) -> None:
        self._append(piece)
        self.pieces.append(piece)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _append(self, line: msgspec.Struct) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as out:
            out.write(msgspec.json.encode(line) + b"\n")
            out.flush()
            os.fsync(out.fileno())

    def _read(self, question: str) -> None:
        first, *lines = self.path.read_bytes().split(b"\n") or [b""]
        try:
            before = msgspec.json.decode(first, type=_First).question
        except (msgspec.MsgspecError, ValueError):
            before = ""
        if before and before != question:
            raise UsageError(
                what=f"{self.folder} holds a part of another collection",
                why=f"it was begun with {before}, this is {question}",
                next="name another place with -o, or delete that one",
            )
        for line in lines:
            # The last line may be cut: its piece is taken again.
            with contextlib.suppress(msgspec.MsgspecError, ValueError):
                self.pieces.append(msgspec.json.decode(line, type=Piece))

    def _remove_loose_files(self) -> None:
        """Of a piece that was under way; they would be twice in the bundle."""
        known = {JOURNAL, *(name for piece in self.pieces for name in piece.files)}
        for file in self.folder.rglob("*"):
            if (
                file.is_file()
                and not file.is_symlink()
                and file.relative_to(self.folder).as_posix() not in known
            ):
                file.unlink()

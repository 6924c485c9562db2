"""A bundle under way: takes Snapshots one after the other, and keeps count of what is in it."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from whysync.contracts.manifest import Manifest, Role
from whysync.contracts.snapshot import Gap, Head, Snapshot
from whysync.errors import UsageError
from whysync.sources.collect import files
from whysync.sources.collect.journal import Journal, Piece
from whysync.sources.collect.target import Target
from whysync.sources.masking import Masker

# As much as a reader takes.
MOST_BYTES: Final = 2048 << 20
_MARK = re.compile(r"<masked (\d{1,9})>")
_ORDER: Final = ("applications", "projects", "settings", "desired", "live", "events", "logs")


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle holds: for the person who takes it home."""

    path: Path
    counts: dict[str, int]
    files: int
    bytes: int
    masked: int
    gaps: tuple[Gap, ...]
    resumed: int = 0


class Collection:
    """`with Collection(target, question) as bundle: bundle.add(snapshot)`, then `bundle.finish()`."""

    def __init__(self, target: Target, question: str, *, most_bytes: int = MOST_BYTES) -> None:
        self.target = target
        self._most = most_bytes
        try:
            target.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._journal = Journal(target.folder, question)
        except OSError as problem:
            raise _unwritable(target.folder, problem) from problem
        self._resumed = sum(len(piece.apps) for piece in self._journal.pieces)
        self._shared = {key for piece in self._journal.pieces for key in piece.shared}

    @property
    def done(self) -> frozenset[str]:
        """Applications that are in it already, from this run or one before."""
        return frozenset(app for piece in self._journal.pieces for app in piece.apps)

    @property
    def is_full(self) -> bool:
        return sum(piece.bytes for piece in self._journal.pieces) >= self._most

    def full_gap(self) -> Gap:
        return Gap(
            what="the Applications that would have come next",
            why=f"the bundle has {self._most >> 20:,} MiB, which is as much as a reader takes",
            how_to_get="collect them by project (--project) or by label (-l) into another bundle",
        )

    def masker(self) -> Masker:
        """Numbers of marks go on where those of the files end: one number is one value in all of them."""
        masker = Masker()
        masker.renumbered(b"<masked %d>" % max((piece.marks for piece in self._journal.pieces), default=0))
        return masker

    def add(self, snapshot: Snapshot) -> None:
        """On the disk when this returns."""
        written: list[str] = []
        shared: list[str] = []
        marks: set[int] = set()
        size = 0

        def is_new(one: Manifest) -> bool:
            key = f"{one.role}|{one.cluster}|{one.ref.group}|{one.ref.kind}|{one.ref.place}|{one.uid}"
            if key in self._shared:
                return False
            self._shared.add(key)
            shared.append(key)
            return True

        number = len(self._journal.pieces)
        try:
            for name, text in files.files_of(snapshot, number, is_new):
                marks.update(int(found[1]) for found in _MARK.finditer(text))
                size += self._write(name, text)
                written.append(name)
        except OSError as problem:
            raise _unwritable(self.target.folder, problem) from problem
        self._journal.add(
            Piece(
                apps=tuple(one.ref.place for one in snapshot.applications),
                files=tuple(dict.fromkeys(written)),
                shared=tuple(shared),
                clusters={files.safe(one.cluster): one.cluster for one in snapshot.live if one.cluster},
                marks=max(marks, default=0),
                bytes=size,
                gaps=tuple((gap.what, gap.why, gap.how_to_get) for gap in snapshot.gaps),
                heads=tuple((head.repo, head.revision, head.commit) for head in snapshot.heads),
                counts=_counts(snapshot, shared),
                version=snapshot.argocd_version,
                at=snapshot.collected_at,
            )
        )

    def leave(self) -> None:
        """Broken off: what is there stays, to be gone on with; where nothing is there, nothing is left."""
        if self._journal.pieces:
            return
        self._journal.remove()
        with contextlib.suppress(OSError):
            self.target.folder.rmdir()

    def finish(self, more: tuple[Gap, ...] = ()) -> Taken:
        """Write what is said of the whole, pack it if it is to be packed, and forget how it came about."""
        pieces = self._journal.pieces
        gaps = [Gap(what=w, why=y, how_to_get=h) for piece in pieces for w, y, h in piece.gaps]
        heads = [Head(repo=r, revision=v, commit=c) for piece in pieces for r, v, c in piece.heads]
        whole = Snapshot(
            # the latest: that is when all of it was so
            collected_at=max((piece.at for piece in pieces if piece.at), default=None),
            argocd_version=next((piece.version for piece in pieces if piece.version), ""),
            heads=tuple(dict.fromkeys(heads)),
            gaps=tuple(dict.fromkeys((*gaps, *more))),
        )
        clusters = {folder: name for one in pieces for folder, name in one.clusters.items()}
        try:
            self._write("bundle.yaml", files.header(whole, clusters))
            if whole.heads:
                self._write("git/heads.yaml", files.heads(whole))
            self._journal.remove()
            self.target.pack()
        except OSError as problem:
            raise _unwritable(self.target.path, problem) from problem
        counts: Counter[str] = Counter()
        for piece in pieces:
            counts.update(piece.counts)
        return Taken(
            path=self.target.path,
            counts={name: counts[name] for name in _ORDER if counts[name]},
            files=len({name for piece in pieces for name in piece.files}) + 1 + bool(whole.heads),
            bytes=sum(piece.bytes for piece in pieces),
            masked=max((piece.marks for piece in pieces), default=0),
            gaps=whole.gaps,
            resumed=self._resumed,
        )

    def _write(self, name: str, text: str) -> int:
        """Whole or not at all, and for nobody else's eyes."""
        path = self.target.folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data = text.encode("utf-8", "surrogatepass")
        beside = path.with_name(f"{path.name}.part")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        beside.replace(path)
        return len(data)


def _counts(snapshot: Snapshot, shared: list[str]) -> dict[str, int]:
    """What several Applications share counts once."""
    roles = Counter(key.partition("|")[0] for key in shared)
    return {
        "applications": len(snapshot.applications),
        "projects": roles[Role.PROJECT],
        "settings": roles[Role.SETTINGS],
        "desired": sum(map(len, snapshot.desired.values())),
        "live": roles[Role.LIVE],
        "events": roles[Role.EVENT],
        "logs": len(snapshot.logs),
    }


def _unwritable(path: Path, problem: OSError) -> UsageError:
    return UsageError(
        what=f"the bundle cannot be written to {path}",
        why=problem.strerror or str(problem),
        next="make room or name another place with -o; what is there already is used when you run it again",
    )

"""A bundle that is being collected: adds Snapshots and counts their contents."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.api.git_head import Head
from whysync.errors import UsageError
from whysync.facts.collect import files
from whysync.facts.collect.journal import Journal, Piece
from whysync.facts.collect.target import Target, pack
from whysync.facts.masking import Masker
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.files import write_file
from whysync.kubernetes.api.manifest import Manifest, Role

# The limit of the bundle reader.
MOST_BYTES: Final = 2048 << 20
_MARK = re.compile(r"<masked (\d{1,9})>")
_ORDER: Final = ("applications", "projects", "settings", "desired", "live", "events", "logs")


class CollectedCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle contains, for the summary."""

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
            self._existed = target.folder.exists()
            target.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._journal = Journal(target.folder, question)
        except OSError as problem:
            raise _unwritable(target.folder, problem) from problem
        self._resumed = sum(len(piece.apps) for piece in self._journal.pieces)
        self._shared = {key for piece in self._journal.pieces for key in piece.shared}

    @property
    def done(self) -> frozenset[str]:
        """Applications that are already in the bundle, from this run or an earlier one."""
        return frozenset(app for piece in self._journal.pieces for app in piece.apps)

    @property
    def has_pieces(self) -> bool:
        return bool(self._journal.pieces)

    @property
    def is_full(self) -> bool:
        return sum(piece.bytes for piece in self._journal.pieces) >= self._most

    def full_gap(self) -> Gap:
        return Gap(
            kind=GapKind.TRUNCATED,
            what="the remaining Applications",
            why=f"the bundle has {self._most >> 20:,} MiB, the limit of the bundle reader",
            how_to_get="collect them by project (--project) or by label (-l) into another bundle",
        )

    def masker(self) -> Masker:
        """Masks continue the numbering of the existing files: one number is one value in all of them."""
        masker = Masker()
        masker.renumbered(b"<masked %d>" % max((piece.marks for piece in self._journal.pieces), default=0))
        return masker

    def add(self, snapshot: Snapshot) -> None:
        """Write a Snapshot; it is on disk when this returns."""
        names: list[str] = []
        shared: list[str] = []
        marks: set[int] = set()
        size = 0

        def is_new(manifest: Manifest) -> bool:
            role, ref = manifest.role, manifest.ref
            key = f"{role}|{manifest.cluster}|{ref.group}|{ref.kind}|{ref.place}|{manifest.uid}"
            if key in self._shared:
                return False
            self._shared.add(key)
            shared.append(key)
            return True

        number = len(self._journal.pieces)
        try:
            for batch in _batches(files.files_of(snapshot, number, is_new)):
                for _, text in batch:
                    marks.update(int(mark[1]) for mark in _MARK.finditer(text))
                size += self._write(batch)
                names += (name for name, _ in batch)
            piece = Piece(
                apps=tuple(application.ref.place for application in snapshot.applications),
                files=tuple(dict.fromkeys(names)),
                shared=tuple(shared),
                clusters={
                    files.safe(live_object.cluster): live_object.cluster
                    for live_object in snapshot.live
                    if live_object.cluster
                },
                marks=max(marks, default=0),
                bytes=size,
                gaps=snapshot.gaps,
                heads=tuple((head.repo, head.revision, head.commit) for head in snapshot.heads),
                counts=_counts(snapshot, shared),
                version=snapshot.argocd_version,
                at=snapshot.collected_at,
            )
            self._journal.add(piece)
        except OSError as problem:
            raise _unwritable(self.target.folder, problem) from problem

    def leave(self) -> None:
        """After an interruption: complete pieces are kept for the next run; without any, nothing is left."""
        if not self.has_pieces:
            with contextlib.suppress(OSError):
                self._journal.discard(keep_folder=self._existed)

    def finish(self, more: tuple[Gap, ...] = ()) -> CollectedCounts:
        """Write the facts about the whole bundle, pack it for an archive, and delete the journal.

        The journal is deleted last, so that the next run can resume after a failure in here.
        """
        pieces = self._journal.pieces
        gaps = [gap for piece in pieces for gap in piece.gaps]
        heads = [Head(repo=r, revision=v, commit=c) for piece in pieces for r, v, c in piece.heads]
        summary = Snapshot(
            # the latest: the time of the whole bundle
            collected_at=max((piece.at for piece in pieces if piece.at), default=None),
            argocd_version=next((piece.version for piece in pieces if piece.version), ""),
            heads=tuple(dict.fromkeys(heads)),
            gaps=tuple(dict.fromkeys((*gaps, *more))),
        )
        clusters = {folder: name for piece in pieces for folder, name in piece.clusters.items()}
        try:
            about = [("bundle.yaml", files.header(summary, clusters))]
            if summary.heads:
                about.append(("git/heads.yaml", files.heads(summary)))
            self._write(about)
            if self.target.archive is None:
                self._journal.remove()
            else:
                pack(self.target.archive, self.target.folder, self._journal.files)
                self._journal.discard(keep_folder=False)
        except OSError as problem:
            raise _unwritable(self.target.path, problem) from problem
        counts: Counter[str] = Counter()
        for piece in pieces:
            counts.update(piece.counts)
        return CollectedCounts(
            path=self.target.path,
            counts={name: counts[name] for name in _ORDER if counts[name]},
            files=len({name for piece in pieces for name in piece.files}) + 1 + bool(summary.heads),
            bytes=sum(piece.bytes for piece in pieces),
            masked=max((piece.marks for piece in pieces), default=0),
            gaps=summary.gaps,
            resumed=self._resumed,
        )

    def _write(self, batch: list[files.Text]) -> int:
        """Write each file atomically, readable by the user only; returns the number of bytes."""
        self._journal.begin(name for name, _ in batch)
        size = 0
        for name, text in batch:
            path = self.target.folder / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            data = text.encode("utf-8", "surrogatepass")
            write_file(path, data, mode=0o600)
            size += len(data)
        return size


def _batches(texts: Iterable[files.Text]) -> Iterator[list[files.Text]]:
    """Batches of files that are recorded in the journal together, to reduce the number of syncs to disk."""
    batch: list[files.Text] = []
    size = 0
    for name, text in texts:
        batch.append((name, text))
        size += len(text)
        if size >= files.LARGEST:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _counts(snapshot: Snapshot, shared: list[str]) -> dict[str, int]:
    """Objects that several Applications share count once."""
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
        next="free some space and run it again to resume, or name another place with -o",
    )

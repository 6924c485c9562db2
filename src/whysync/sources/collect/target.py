"""Where a bundle goes: a folder, or an archive that is packed from a folder when all is there."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
from pathlib import Path

import msgspec

from whysync.errors import UsageError
from whysync.sources.collect.journal import JOURNAL

_ARCHIVES = (".tar.gz", ".tgz")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """`folder` is where files are written as they come; `archive` what is made of it in the end."""

    folder: Path
    archive: Path | None = None

    @classmethod
    def of(cls, written: str) -> Target:
        """A folder that is new, empty or half done; an archive that is not there yet."""
        path = Path(written)
        if not path.name.endswith(_ARCHIVES):
            _check_folder(path)
            return cls(folder=path)
        if path.exists():
            raise _there(path)
        folder = path.with_name(f"{path.name}.partial")
        _check_folder(folder)
        return cls(folder=folder, archive=path)

    @property
    def path(self) -> Path:
        return self.archive or self.folder

    def pack(self) -> None:
        """The archive appears all at once, and only when it is whole."""
        if self.archive is None:
            return
        beside = self.archive.with_name(f"{self.archive.name}.tmp")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with (
            os.fdopen(handle, "wb") as raw,
            # without the time of packing: the same facts give the same bytes
            gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|") as archive,
        ):
            for file in sorted(one for one in self.folder.rglob("*") if one.is_file()):
                archive.add(file, arcname=file.relative_to(self.folder).as_posix(), filter=_plain)
        beside.replace(self.archive)
        shutil.rmtree(self.folder)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose machine it was is nobody's business."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o600
    return member


def _check_folder(path: Path) -> None:
    try:
        taken = path.exists() and (
            not path.is_dir() or (any(path.iterdir()) and not (path / JOURNAL).exists())
        )
    except OSError as problem:
        raise UsageError(what=f"{path} cannot be used", why=problem.strerror or str(problem)) from problem
    if taken:
        raise _there(path)


def _there(path: Path) -> UsageError:
    return UsageError(
        what=f"{path} is there already",
        why="a bundle is written into a place of its own, and nothing is overwritten",
        next="name another with -o, or delete that one",
    )

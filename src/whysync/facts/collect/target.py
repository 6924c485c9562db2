"""Where a bundle goes: a folder, or an archive that is packed from a folder when all is there."""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whysync.errors import UsageError
from whysync.facts.collect.journal import JOURNAL, is_unused
from whysync.files import replacing

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
        folder = path.with_name(f"{path.name}.partial")
        if os.path.lexists(path):
            raise _there(path)
        if folder.is_symlink():  # nobody named it, so nobody wants to write where it leads
            raise _there(folder)
        _check_folder(folder)
        return cls(folder=folder, archive=path)

    @property
    def path(self) -> Path:
        return self.archive or self.folder


def pack(archive: Path, folder: Path, names: Iterable[str]) -> None:
    """Pack these files of a folder. The archive appears when it is complete."""
    with (
        replacing(archive, mode=0o600, must_be_new=True) as raw,
        # without the time of packing: the same facts give the same bytes
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for name in names:
            tar.add(folder / name, arcname=name, filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose machine it was is nobody's business."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o600
    return member


def _check_folder(path: Path) -> None:
    """Before anything is asked of a server; what is in the folder is checked when the collection begins."""
    try:
        if not os.path.lexists(path):
            return
        if not path.is_dir() or not (os.path.lexists(path / JOURNAL) or is_unused(path)):
            raise _there(path)
    except OSError as problem:
        raise UsageError(what=f"{path} cannot be used", why=problem.strerror or str(problem)) from problem


def _there(path: Path) -> UsageError:
    return UsageError(
        what=f"{path} is there already",
        why="a bundle is written into a place of its own, and nothing is overwritten",
        next="name another with -o, or delete that one",
    )

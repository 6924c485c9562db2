"""The output of a collection: a folder, or an archive that is packed from a folder at the end."""

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
    """`folder` is where files are written; `archive` is packed from it at the end."""

    folder: Path
    archive: Path | None = None

    @classmethod
    def of(cls, output: str) -> Target:
        """A folder that is new, empty or incomplete; an archive that does not exist yet."""
        path = Path(output)
        if not path.name.endswith(_ARCHIVES):
            _check_folder(path)
            return cls(folder=path)
        folder = path.with_name(f"{path.name}.partial")
        if os.path.lexists(path):
            raise _already_exists(path)
        if folder.is_symlink():  # the user did not choose this name, so a link is not followed
            raise _already_exists(folder)
        _check_folder(folder)
        return cls(folder=folder, archive=path)

    @property
    def path(self) -> Path:
        return self.archive or self.folder


def pack(archive: Path, folder: Path, names: Iterable[str]) -> None:
    """Pack these files of a folder. The archive appears when it is complete."""
    with (
        replacing(archive, mode=0o600, must_be_new=True) as raw,
        # without the time of packing, so that the same facts give the same bytes
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for name in names:
            tar.add(folder / name, arcname=name, filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the user and group of the local machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o600
    return member


def _check_folder(path: Path) -> None:
    """Checked before any request; the contents of the folder are checked when the collection starts."""
    try:
        if not os.path.lexists(path):
            return
        if not path.is_dir() or not (os.path.lexists(path / JOURNAL) or is_unused(path)):
            raise _already_exists(path)
    except OSError as problem:
        raise UsageError(what=f"{path} cannot be used", why=problem.strerror or str(problem)) from problem


def _already_exists(path: Path) -> UsageError:
    return UsageError(
        what=f"{path} already exists",
        why="a bundle is written to a new path, and nothing is overwritten",
        next="choose another path with -o, or delete that one",
    )

"""Read archives as streams of files. Links, devices and names that point outside are skipped."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from io import BufferedReader, RawIOBase
from typing import IO, BinaryIO, cast

from whysync.errors import Unreadable
from whysync.facts.bundle.entries import FileResult, Skipped, is_readable, is_tar, read_entry, safe_name
from whysync.facts.bundle.limits import Budget

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError)
_FAILED = (*_BROKEN, OSError, RuntimeError, ValueError, OverflowError)


def broken_archive(name: str, problem: Exception) -> Unreadable:
    return Unreadable(
        what=f"{name} is a broken archive",
        why=str(problem) or type(problem).__name__,
        next="create it again, or unpack it and pass the folder",
    )


class _Counted(RawIOBase):
    """Counts decompressed bytes, also of skipped files, to stop decompression bombs."""

    def __init__(self, inner: IO[bytes], budget: Budget, name: str) -> None:
        self._inner = inner
        self._left = budget.limits.unpacked_bytes + (64 << 20)  # headers and padding are not counted
        self._budget = budget
        self._name = name

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        chunk = self._inner.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            self._budget.spend(self._budget.limits.unpacked_bytes + 1, self._name)
        return chunk

    def readinto(self, buffer: object, /) -> int:
        view = cast("bytearray", buffer)
        chunk = self.read(len(view))
        view[: len(chunk)] = chunk
        return len(chunk)


def gzip_files(stream: BinaryIO, name: str, budget: Budget) -> Iterator[FileResult]:
    """A `.tar.gz`, or a single compressed file."""
    try:
        with gzip.GzipFile(fileobj=stream, mode="rb") as unpacked:
            counted_stream = BufferedReader(_Counted(cast("IO[bytes]", unpacked), budget, name), 1 << 16)
            start = counted_stream.peek(1024)[:1024]
            if not is_tar(start) and not name.endswith((".tar.gz", ".tgz")):
                budget.open_file(name)
                yield read_entry(name.removesuffix(".gz") or name, counted_stream.read, budget)
                return
            yield from tar_files(cast("BinaryIO", counted_stream), name, budget)
    except _FAILED as problem:
        raise broken_archive(name, problem) from problem


def tar_files(stream: BinaryIO, name: str, budget: Budget) -> Iterator[FileResult]:
    try:
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
            for member in archive:
                # tarfile keeps every member in memory; they are not needed again.
                cast("dict[str, list[object]]", vars(archive))["members"].clear()
                if not member.isdir():
                    yield _tar_member(archive, member, budget)
    except _FAILED as problem:
        raise broken_archive(name, problem) from problem


def _tar_member(archive: tarfile.TarFile, member: tarfile.TarInfo, budget: Budget) -> FileResult:
    budget.open_file(member.name)
    name = safe_name(member.name)
    if name is None:
        return Skipped(name=member.name, why="its path points out of the bundle")
    if member.issym() or member.islnk():
        return Skipped(name=name, why="a link")
    if not member.isfile():
        return Skipped(name=name, why="not a regular file")
    if not is_readable(name):
        return Skipped(name=name)
    content = archive.extractfile(member)
    if content is None:
        return Skipped(name=name, why="not a regular file")
    return read_entry(name, content.read, budget)


def zip_files(stream: BinaryIO, name: str, budget: Budget) -> Iterator[FileResult]:
    try:
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    yield _zip_member(archive, member, budget)
    except _FAILED as problem:
        raise broken_archive(name, problem) from problem


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget) -> FileResult:
    budget.open_file(member.filename)
    name = safe_name(member.filename)
    if name is None:
        return Skipped(name=member.filename, why="its path points out of the bundle")
    kind = (member.external_attr >> 16) & 0o170000
    if kind == 0o120000:
        return Skipped(name=name, why="a link")
    if kind not in (0, 0o100000):
        return Skipped(name=name, why="not a regular file")
    if not is_readable(name):
        return Skipped(name=name)
    if member.flag_bits & 1:
        return Skipped(name=name, why="it is encrypted", is_gap=True)
    with archive.open(member) as content:
        return read_entry(name, content.read, budget)

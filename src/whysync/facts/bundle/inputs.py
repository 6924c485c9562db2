"""Inputs of the command line: a folder, an archive, a file, or standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from whysync.errors import NotFound, TooLarge, Unreadable
from whysync.facts.bundle.entries import CHUNK, FileResult, Skipped, is_readable, is_tar, read_entry
from whysync.facts.bundle.limits import Budget, size
from whysync.files import NotRegular, open_regular

_GZIP = b"\x1f\x8b"
_UNSUPPORTED_FORMATS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z"}
EXPECTED = "a folder, a .tar.gz, .tar or .zip of one, or a file of YAML or JSON objects"


def files_of(argument: str, budget: Budget, stdin: BinaryIO | None) -> Iterator[FileResult]:
    """The files of one argument, sorted by name if possible."""
    if argument == "-":
        if stdin is None:
            raise NotFound(what="standard input is not available", next="pass a file or a folder instead")
        yield from _stream(BytesIO(_read_all(stdin, budget)), "stdin", budget)
        return
    path = Path(argument)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _folder(path, budget)
        else:
            with open_regular(path) as stream:
                if stat.S_ISREG(mode):
                    yield from _stream(stream, path.name, budget)
                else:  # such as a shell's <(…)
                    yield from _stream(BytesIO(_read_all(stream, budget)), path.name, budget)
    except NotRegular as problem:
        raise Unreadable(
            what=f"{argument} cannot be read",
            why=problem.strerror or str(problem),
            next=f"give {EXPECTED}; for a pipe, use - and standard input",
        ) from problem
    except FileNotFoundError as problem:
        raise NotFound(
            what=f"there is no {argument}", why="the path does not exist", next="check the path of --bundle"
        ) from problem
    except OSError as problem:
        raise Unreadable(
            what=f"{argument} cannot be read", why=problem.strerror or str(problem), next=f"give {EXPECTED}"
        ) from problem
    except ValueError as problem:  # a NUL in the path
        raise NotFound(what=f"there is no {argument!r}", why=str(problem)) from problem


def _read_all(stream: BinaryIO, budget: Budget) -> bytes:
    """A zip is read from its end, so input that cannot be rewound is kept in memory, within the limit."""
    chunks: list[bytes] = []
    total = 0
    while chunk := stream.read(CHUNK):
        total += len(chunk)
        if total > budget.limits.unpacked_bytes:
            raise TooLarge(
                what=f"standard input is larger than {size(budget.limits.unpacked_bytes)}",
                next="give a file or a folder instead",
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _stream(stream: BinaryIO, name: str, budget: Budget) -> Iterator[FileResult]:
    start = stream.read(1024)
    stream.seek(0)
    is_zip = start.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    if is_zip or start.startswith(_GZIP) or is_tar(start) or (start and name.endswith(".tar")):
        # The archive libraries are only imported for archives.
        from whysync.facts.bundle.archives import gzip_files, tar_files, zip_files

        unpack = zip_files if is_zip else gzip_files if start.startswith(_GZIP) else tar_files
        yield from unpack(stream, name, budget)
    else:
        for magic, kind in _UNSUPPORTED_FORMATS.items():
            if start.startswith(magic):
                raise Unreadable(
                    what=f"{name} is a {kind} archive, which whysync does not read", next=f"give {EXPECTED}"
                )
        budget.open_file(name)
        yield read_entry(name, stream.read, budget)


def _folder(root: Path, budget: Budget) -> Iterator[FileResult]:
    """Sorted, so that the result is deterministic; links are not followed."""
    pending: list[tuple[str, str]] = [(str(root), "")]
    while pending:
        folder, prefix = pending.pop()
        try:
            with os.scandir(folder) as listing:
                children = sorted(listing, key=lambda child: child.name)
        except OSError as problem:
            if not prefix:
                raise
            yield Skipped(name=prefix, why=problem.strerror or "it cannot be read", is_gap=True)
            continue
        folders: list[tuple[str, str]] = []
        for child in children:
            name = f"{prefix}{_printable(child.name)}"
            if child.is_symlink():
                yield Skipped(name=name, why="a link")
            elif child.is_dir(follow_symlinks=False):
                if child.name.startswith("."):
                    yield Skipped(name=f"{name}/", why="a hidden folder")
                else:
                    folders.append((child.path, f"{name}/"))
            else:
                yield _file(child, name, budget)
        pending.extend(reversed(folders))


def _file(child: os.DirEntry[str], name: str, budget: Budget) -> FileResult:
    budget.open_file(name)
    if not child.is_file(follow_symlinks=False):
        return Skipped(name=name, why="not a regular file")
    if not is_readable(name):
        return Skipped(name=name)
    try:
        with open_regular(child.path, follow=False) as stream:
            return read_entry(name, stream.read, budget)
    except OSError as problem:
        return Skipped(name=name, why=problem.strerror or "it cannot be read", is_gap=True)


def _printable(name: str) -> str:
    """A file name may be any bytes; invalid UTF-8 must not break a report."""
    return name.encode("utf-8", "replace").decode()

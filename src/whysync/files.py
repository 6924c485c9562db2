"""Reading and writing files of the user: atomic writes, and reads of regular files only.

Every file that whysync writes outside of its private temporary folders is written by `replacing`. The new
content goes into a temporary file in the same folder, is flushed to the disk and then renamed. A full disk, a
signal or a crash leaves the old file or the complete new one.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from whysync.errors import Refused

TEMPORARY: Final = re.compile(r"\.whysync-[0-9a-f]{16}\.tmp")
"""Names of the temporary files. A process that is killed in the middle of a write leaves one."""
_DESCRIPTORS: Final = ("/dev/fd", "/proc/self/fd")
_STANDARD_STREAMS: Final = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_KINDS: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}
# Code points that HFS+ ignores in names: `.g\u200cit` is `.git` there.
_IGNORED_IN_NAMES: Final = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


class NotRegular(OSError):
    """The path is a pipe, a device, a socket, a folder or a link."""

    def __init__(self, path: str | Path, mode: int) -> None:
        super().__init__(errno.EINVAL, _kind(mode), str(path))

    def __str__(self) -> str:
        return self.strerror or ""


def _kind(mode: int) -> str:
    return f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file"


# --- reading ---------------------------------------------------------------------------------------


def open_regular(path: str | Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading, or a pipe that the shell passed (`<(…)`, `/dev/stdin`).

    Raises `NotRegular` for everything else: reading a named pipe or a device can block forever.
    """
    _check_readable(path, os.stat(path, follow_symlinks=follow).st_mode)
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        mode = os.fstat(handle).st_mode  # the path may have been replaced in the meantime
        _check_readable(path, mode)
        if stat.S_ISFIFO(mode):
            os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_file(path: str | Path, *, follow: bool = True, most: int = -1) -> bytes:
    """The content of a regular file; `OSError` for one of more than `most` bytes."""
    with open_regular(path, follow=follow) as stream:
        data = stream.read(most + 1 if most >= 0 else -1)
    if 0 <= most < len(data):
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB", str(path))
    return data


def is_descriptor(path: str | Path) -> bool:
    """Does the path name an open file of this process: `/dev/stdin`, or `/dev/fd/63` for `<(…)`?"""
    normalized = os.path.normpath(path)
    return normalized in _STANDARD_STREAMS or os.path.dirname(normalized) in _DESCRIPTORS


def _check_readable(path: str | Path, mode: int) -> None:
    if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and is_descriptor(path)):
        raise NotRegular(path, mode)


# --- writing ---------------------------------------------------------------------------------------


class Output:
    """An open file without a buffer, with the methods that `gzip` needs.

    After `detach` writes fail: a compressor that is garbage collected late flushes its data, and by then the
    number of the descriptor may belong to another file.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def detach(self) -> None:
        self._handle = -1

    def write(self, data: bytes, /) -> int:
        if self._handle < 0:
            raise ValueError("write to a closed file")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._handle, rest) :]
        return len(data)

    def flush(self) -> None:
        pass


@contextmanager
def replacing(
    path: Path, *, mode: int = 0o666, must_be_new: bool = False, durable: bool = True
) -> Generator[Output]:
    """A stream whose content becomes the file when the block ends without an exception.

    An existing file keeps its mode and, where permitted, its owner; `mode` (with the umask) is for a new one.
    Links, devices and write-protected files are never replaced. Without `durable`, a power cut may lose the
    new content.
    """
    before = _existing(path)
    if before is not None and must_be_new:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    temporary = path.with_name(f".whysync-{os.urandom(8).hex()}.tmp")
    handle = -1
    output = Output(-1)
    try:
        # O_EXCL: a file or link of that name is an error, never overwritten or followed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        handle = os.open(temporary, flags, mode if before is None else 0o600)
        output = Output(handle)
        yield output
        if before is not None:
            _copy_permissions(handle, before)
        if durable:
            os.fsync(handle)
        if must_be_new and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        os.replace(temporary, path)
    except BaseException as problem:
        # Without a handle, a signal may have arrived right after the file was created. The file belongs to
        # another process only if the name was taken.
        if handle >= 0 or not isinstance(problem, FileExistsError):
            with suppress(OSError):
                os.unlink(temporary)
        raise
    finally:
        output.detach()
        if handle >= 0:
            os.close(handle)
    if durable:
        _sync_folder(path.parent)


def write_file(
    path: Path, data: bytes, *, mode: int = 0o666, must_be_new: bool = False, durable: bool = True
) -> None:
    """Write a whole file atomically; see `replacing`."""
    with replacing(path, mode=mode, must_be_new=must_be_new, durable=durable) as stream:
        stream.write(data)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to an existing log file. A crash may leave a part of it, but never changes earlier lines."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _check_readable(path, os.fstat(handle).st_mode)
        Output(handle).write(line + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_file(path: Path) -> None:
    """Delete a file; one that does not exist is not an error."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def remove_empty_folders(root: Path, *, keep_root: bool) -> None:
    """Delete the empty folders below a folder, and the folder itself if it is empty."""
    for folder, _, _ in os.walk(root, topdown=False, followlinks=False):
        if not keep_root or Path(folder) != root:
            with suppress(OSError):
                os.rmdir(folder)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user named; `/dev/stdout`, `>(…)` and `/dev/null` are written directly."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if not is_descriptor(path) and not stat.S_ISCHR(mode) and not stat.S_ISFIFO(mode):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data)
        return
    sys.stdout.flush()
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)  # fails if nobody reads the pipe
    try:
        os.set_blocking(handle, True)
        Output(handle).write(data)
    finally:
        os.close(handle)


def _existing(path: Path) -> os.stat_result | None:
    """The file that is to be replaced, if there is one. Raises `OSError` if it must not be."""
    try:
        before = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(before.st_mode):
        raise NotRegular(path, before.st_mode)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return before


def _copy_permissions(handle: int, before: os.stat_result) -> None:
    mode = stat.S_IMODE(before.st_mode)
    current = os.fstat(handle)
    if (current.st_uid, current.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except PermissionError:  # the file belongs to whoever wrote it, so without setuid and setgid
            mode &= 0o777
    os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, where the file system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder that may be written but not listed
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


# --- editing files of a repository -----------------------------------------------------------------


def check_editable(path: Path) -> None:
    """Raise `Refused` for a file that must not be edited: a link, a hard-linked file, a file below `.git`."""
    if is_in_git_folder(path):
        raise Refused(
            what=f"{path} is in a Git directory",
            why="whysync edits files of the work tree only",
            next="check the path of the app, or edit that file by hand",
        )
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise Refused(
            what=f"{path} is a symbolic link",
            why="it may point outside of the repository, and whysync does not follow links when it writes",
            next=f"pass the file itself: {os.path.realpath(path)}",
        )
    if not stat.S_ISREG(status.st_mode):
        raise Refused(what=f"{path} cannot be edited", why=_kind(status.st_mode))
    if status.st_nlink > 1:
        raise Refused(
            what=f"{path} has {status.st_nlink} hard links",
            why="an edit would change the other files, or separate them from this one",
            next="edit it by hand, or replace it with a copy first",
        )


def is_in_git_folder(path: Path) -> bool:
    """Is it `.git` or below it, in any spelling that a file system accepts, or in a bare repository?"""
    full = path.parent.resolve() / path.name
    return any(map(is_git_name, full.parts)) or any(map(_is_git_folder, full.parents))


def is_git_name(name: str) -> bool:
    folded = name.translate(_IGNORED_IN_NAMES).partition(":")[0].rstrip(". ").casefold()
    return folded in (".git", "git~1")


def _is_git_folder(folder: Path) -> bool:
    """As Git itself recognizes one, such as a bare repository or a separate Git directory."""
    return (folder / "HEAD").exists() and (folder / "objects").is_dir() and (folder / "refs").is_dir()

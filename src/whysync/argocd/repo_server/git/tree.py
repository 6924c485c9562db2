"""The files of a commit or of a folder, in a temporary directory.

Rendering tools need real files, and user files must not be changed, so each tree is a copy that is deleted
when it is closed. It is written from Git's objects, without filters, hooks or attributes. Symbolic links are
created last and never written through, so nothing is written outside the directory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from whysync.argocd.repo_server.git.command import Git
from whysync.errors import TooLarge, Unreadable

_HOW_TO_FETCH: Final = "fetch it: git fetch --refetch --no-filter (Git 2.36), or clone without --filter"
_MAX_FILES: Final = 200_000
_MAX_BYTES: Final = 2 << 30
_MAX_LINK_BYTES: Final = 4096
_MAX_DEPTH: Final = 250
_BATCH: Final = 2000
_BATCH_BYTES: Final = 64 << 20


class Tree:
    """A temporary directory that may be changed; paths are relative to `root`, with `/`."""

    def __init__(
        self, root: Path, *, identity: str, warnings: Sequence[str] = (), missing: Sequence[str] = ()
    ) -> None:
        self.root = root
        self.identity = identity
        """Equal for equal content: the Git tree id, or a hash of the files."""
        self.warnings = tuple(warnings)
        self.missing = tuple(missing)
        """Files of the commit that a partial clone lacks."""
        self.lock = threading.Lock()
        """Held while files are changed temporarily."""
        self.checked: str | None = None
        """The first link that leads out of the tree, empty if there is none; `None` before the check."""
        self._process = os.getpid()

    def unshare(self) -> None:
        """In a forked process: continue with a copy, as others may change files of the tree temporarily.

        Files are hard links, so whoever changes one replaces it. `close` deletes the copies.
        """
        if self._process != os.getpid():
            self._process = os.getpid()
            root = self.root.with_name(f"{self.root.name}-{self._process}")
            shutil.copytree(self.root, root, symlinks=True, copy_function=os.link)
            self.root = root

    def close(self) -> None:
        for root in (self.root, *self.root.parent.glob(f"{self.root.name}-*")):
            shutil.rmtree(root, ignore_errors=True)

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def walk(root: Path, *, skipped: str = "") -> Iterator[Path]:
    """All paths below a folder in the order of Go's `filepath.Walk`; links are not followed.

    Raises `Unreadable` if a path is too deep.
    """
    pending = [root]
    max_parts = len(root.parts) + _MAX_DEPTH
    while pending:
        path = pending.pop()
        if path is not root:
            if len(path.parts) > max_parts:
                raise _too_deep(path.name)
            yield path
            if path.is_symlink() or not path.is_dir():
                continue
        try:
            names = sorted(os.listdir(path), reverse=True)
        except OSError as problem:
            raise _unwritable(path.name, problem) from problem
        pending += [path / name for name in names if name != skipped]


class _Entry(NamedTuple):
    mode: str
    name: str
    size: int
    path: str


def tree_of_commit(git: Git, commit: str) -> Tree:
    """Raises `GitFailed` if there is no such commit, `TooLarge`, `Unreadable`."""
    identity = git.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()
    listing = git.bytes("ls-tree", "-r", "-z", "-l", "--full-tree", identity)
    entries = list(_entries(listing))
    _check_size(len(entries), sum(entry.size for entry in entries))
    root = Path(tempfile.mkdtemp(prefix="whysync-tree-")).resolve()
    try:
        submodules, missing = _write(root, git, entries)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    warnings = [
        f"the submodule at {path} is not read: its files are in another repository" for path in submodules
    ]
    if missing:
        warnings.append(missing_in_words(missing))
    return Tree(root, identity=identity, warnings=warnings, missing=missing)


def missing_in_words(paths: Sequence[str]) -> str:
    """The warning about files whose content a partial clone lacks, and how to fetch it."""
    more = f" and {len(paths) - 1} others" if len(paths) > 1 else ""
    return f"the content of {paths[0]!r}{more} is missing in this partial clone; {_HOW_TO_FETCH}"


def tree_of_folder(folder: Path, *, only: frozenset[str] | None = None) -> Tree:
    """A copy of a folder without `.git`; `only` limits it to these files."""
    if not folder.is_dir():
        raise Unreadable(
            what=f"there is no folder {str(folder)!r}",
            why="it was given as the files of a repository",
            next="give the folder that contains them",
        )
    root = Path(tempfile.mkdtemp(prefix="whysync-tree-")).resolve()
    try:
        digest = _copy(folder.resolve(), root, only)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    return Tree(root, identity=digest)


def _entries(listing: bytes) -> Iterator[_Entry]:
    for line in listing.split(b"\0"):
        if not line:
            continue
        attributes, _, path = line.partition(b"\t")
        mode, _, name, size = attributes.split()
        yield _Entry(
            mode.decode(), name.decode(), int(size) if size.isdigit() else 0, os.fsdecode(_safe(path))
        )


def _safe(path: bytes) -> bytes:
    """Rejects names that Git refuses too, because a tree can be forged."""
    if any(component in (b"", b".", b"..") or component.lower() == b".git" for component in path.split(b"/")):
        raise Unreadable(
            what=f"the repository contains a file named {os.fsdecode(path)!r}",
            why="it would be written outside the repository, or into its .git directory",
            next="remove that file from the repository; it may be an attack",
        )
    if path.count(b"/") > _MAX_DEPTH:
        raise _too_deep(os.fsdecode(path[:200]))
    return path


def _check_size(files: int, size: int) -> None:
    if files > _MAX_FILES or size > _MAX_BYTES:
        raise TooLarge(
            what=f"the repository has {files} files, {size >> 20} MiB in total",
            why=f"whysync reads at most {_MAX_FILES} files and {_MAX_BYTES >> 30} GiB of one commit",
            next="give a smaller repository, or a folder with the files that are deployed",
        )


def _write(root: Path, git: Git, entries: Sequence[_Entry]) -> tuple[list[str], list[str]]:
    """Writes files, then links; returns the paths of submodules and of missing files."""
    missing: list[str] = []
    submodules = [entry.path for entry in entries if entry.mode == "160000"]
    links = [entry for entry in entries if entry.mode == "120000"]
    for path in submodules:
        (root / path).mkdir(parents=True, exist_ok=True)
    plain = [entry for entry in entries if entry.mode in ("100644", "100755", "100664")]
    for entry, content in _contents(git, plain):
        if content is None:
            missing.append(entry.path)
        else:
            _write_file(root / entry.path, content, executable=entry.mode == "100755")
    for path in missing:
        (root / path).parent.mkdir(parents=True, exist_ok=True)  # its folder is in the commit
    for entry, content in _contents(git, links):
        if content is None:
            missing.append(entry.path)
        else:
            _write_link(root, entry.path, content)
    return submodules, missing


def _write_file(path: Path, content: bytes, *, executable: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if executable else 0o644
        )
    except (OSError, ValueError) as problem:
        raise _unwritable(path.name, problem) from problem
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _write_link(root: Path, path: str, content: bytes) -> None:
    target = root / path
    if len(content) > _MAX_LINK_BYTES or b"\0" in content or not content:
        raise _unwritable(path, ValueError("the link leads to no possible path"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent.resolve() != target.parent:
            raise ValueError("it lies behind another link")
        os.symlink(os.fsdecode(content), target)
    except (OSError, ValueError, RuntimeError) as problem:
        raise _unwritable(path, problem) from problem


def _unwritable(path: str, problem: Exception) -> Unreadable:
    return Unreadable(
        what=f"the file {path!r} of the repository cannot be written out",
        why=str(getattr(problem, "strerror", None) or problem),
        next="rename or remove it in the repository",
    )


def _too_deep(path: str) -> Unreadable:
    return _unwritable(path, ValueError(f"it lies more than {_MAX_DEPTH} folders deep"))


def _contents(git: Git, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, bytes | None]]:
    """The contents of the entries in order, read in batches of limited size."""
    start = 0
    while start < len(entries):
        end, size = start, 0
        while end < len(entries) and end - start < _BATCH and (size < _BATCH_BYTES or end == start):
            size += entries[end].size
            end += 1
        batch = entries[start:end]
        names = "".join(f"{entry.name}\n" for entry in batch).encode()
        yield from _split_batch(batch, git.bytes("cat-file", "--batch", input=names))
        start = end


def _split_batch(batch: Sequence[_Entry], output: bytes) -> Iterator[tuple[_Entry, bytes | None]]:
    position = 0
    for entry in batch:
        header_end = output.index(b"\n", position)
        header = output[position:header_end].split()
        if len(header) != 3 or header[1] != b"blob":
            yield entry, None
            position = header_end + 1
            continue
        size = int(header[2])
        yield entry, output[header_end + 1 : header_end + 1 + size]
        position = header_end + 1 + size + 1


def _is_inside(path: Path, folder: Path) -> bool:
    """Does it exist, and not behind a link that replaces a folder?"""
    return os.path.lexists(path) and (path.parent == folder or path.parent.resolve() == path.parent)


def _copy(folder: Path, root: Path, only: frozenset[str] | None) -> str:
    digest = hashlib.sha256()
    files = size = 0
    if only is None:
        sources = walk(folder, skipped=".git")
    else:
        sources = (path for path in map(folder.joinpath, sorted(only)) if _is_inside(path, folder))
    for source in sources:
        relative = source.relative_to(folder)
        target = root / relative
        status = source.lstat()
        if stat.S_ISDIR(status.st_mode):
            target.mkdir(parents=True, exist_ok=True)
            continue
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(source))
            target.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(os.fsdecode(content), target)
        elif stat.S_ISREG(status.st_mode):
            files, size = files + 1, size + status.st_size
            _check_size(files, size)
            try:
                content = source.read_bytes()
            except OSError as problem:
                raise _unwritable(str(relative), problem) from problem
            _write_file(target, content, executable=bool(status.st_mode & stat.S_IXUSR))
        else:
            continue  # a pipe or a socket
        label = os.fsencode(str(relative))
        digest.update(
            b"%d %d %d\0" % (stat.S_IFMT(status.st_mode), len(label), len(content)) + label + content
        )
    return digest.hexdigest()

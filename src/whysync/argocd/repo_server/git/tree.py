"""The files of one commit, or of one folder, in a directory of whysync's own.

Tools need real files, and the user's own must not be touched: so each tree is a private copy, gone when it is
closed. It is written from Git's objects one by one, without filters, hooks or attributes. Links are made last
and never written through, so nothing lands outside, whatever names a repository has.
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
_MOST_FILES: Final = 200_000
_MOST_BYTES: Final = 2 << 30
_LARGEST_LINK: Final = 4096
_DEEPEST: Final = 250
_BATCH: Final = 2000
_BATCH_BYTES: Final = 64 << 20


class Tree:
    """A directory that may be changed and is thrown away; paths are relative to `root`, with `/`."""

    def __init__(
        self, root: Path, *, identity: str, warnings: Sequence[str] = (), missing: Sequence[str] = ()
    ) -> None:
        self.root = root
        self.identity = identity
        """Equal for equal content: Git's name of the tree, or a hash of the files."""
        self.warnings = tuple(warnings)
        self.missing = tuple(missing)
        """Files of the commit that a partial clone does not hold."""
        self.lock = threading.Lock()
        """Held by whoever changes files for a while."""
        self.checked: str | None = None
        """A link that leads out of the tree, once looked for; empty when there is none."""

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def walk(root: Path, *, skipped: str = "") -> Iterator[Path]:
    """All that lies below a folder, each folder before what is in it, by name; links are not followed.

    In the order of Go's `filepath.Walk`, and without recursion. Raises `Unreadable` for what lies too deep.
    """
    waiting = [root]
    deepest = len(root.parts) + _DEEPEST
    while waiting:
        here = waiting.pop()
        if here is not root:
            if len(here.parts) > deepest:
                raise _too_deep(here.name)
            yield here
            if here.is_symlink() or not here.is_dir():
                continue
        try:
            names = sorted(os.listdir(here), reverse=True)
        except OSError as problem:
            raise _unwritable(here.name, problem) from problem
        waiting += [here / name for name in names if name != skipped]


class _Entry(NamedTuple):
    mode: str
    name: str
    size: int
    path: str


def tree_of_commit(git: Git, commit: str) -> Tree:
    """Raises `GitFailed` where there is no such commit, `TooLarge`, `Unreadable`."""
    identity = git.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()
    listing = git.bytes("ls-tree", "-r", "-z", "-l", "--full-tree", identity)
    entries = list(_entries(listing))
    _bound(len(entries), sum(entry.size for entry in entries))
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
    """Files of a commit whose content this clone does not have, and how to get it."""
    others = f" and {len(paths) - 1} others" if len(paths) > 1 else ""
    return f"the content of {paths[0]!r}{others} is missing in this partial clone; {_HOW_TO_FETCH}"


def tree_of_folder(folder: Path, *, only: frozenset[str] | None = None) -> Tree:
    """A copy of a folder as it is now, without `.git`; `only` names the files to take."""
    if not folder.is_dir():
        raise Unreadable(
            what=f"there is no folder {str(folder)!r}",
            why="it was to be read as the files of a repository",
            next="give the folder that holds them",
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
        facts, _, path = line.partition(b"\t")
        mode, _, name, size = facts.split()
        yield _Entry(
            mode.decode(), name.decode(), int(size) if size.isdigit() else 0, os.fsdecode(_safe(path))
        )


def _safe(path: bytes) -> bytes:
    """Git itself refuses such names, but a tree can be forged."""
    if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/")):
        raise Unreadable(
            what=f"the repository holds a file with the name {os.fsdecode(path)!r}",
            why="it would lie outside of the repository, or inside of its git directory",
            next="remove that file from the repository: no honest tool makes it",
        )
    if path.count(b"/") > _DEEPEST:
        raise _too_deep(os.fsdecode(path[:200]))
    return path


def _bound(files: int, size: int) -> None:
    if files > _MOST_FILES or size > _MOST_BYTES:
        raise TooLarge(
            what=f"the repository has {files} files of {size >> 20} MiB together",
            why=f"whysync reads at most {_MOST_FILES} files and {_MOST_BYTES >> 30} GiB of one commit",
            next="give a smaller repository, or a folder with the part that is deployed",
        )


def _write(root: Path, git: Git, entries: Sequence[_Entry]) -> tuple[list[str], list[str]]:
    """All files, then the links; the paths of submodules and of missing files come back."""
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
        (root / path).parent.mkdir(parents=True, exist_ok=True)  # its folder is in the commit nevertheless
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
    if len(content) > _LARGEST_LINK or b"\0" in content or not content:
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
    return _unwritable(path, ValueError(f"it lies more than {_DEEPEST} folders deep"))


def _contents(git: Git, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, bytes | None]]:
    """The blobs in their order, many to a call, a bounded number of bytes at a time."""
    start = 0
    while start < len(entries):
        end, size = start, 0
        while end < len(entries) and end - start < _BATCH and (size < _BATCH_BYTES or end == start):
            size += entries[end].size
            end += 1
        batch = entries[start:end]
        asked = "".join(f"{entry.name}\n" for entry in batch).encode()
        yield from _split(batch, git.bytes("cat-file", "--batch", given=asked))
        start = end


def _split(batch: Sequence[_Entry], answer: bytes) -> Iterator[tuple[_Entry, bytes | None]]:
    at = 0
    for entry in batch:
        head = answer.index(b"\n", at)
        header = answer[at:head].split()
        if len(header) != 3 or header[1] != b"blob":
            yield entry, None
            at = head + 1
            continue
        size = int(header[2])
        yield entry, answer[head + 1 : head + 1 + size]
        at = head + 1 + size + 1


def _lies_in(path: Path, folder: Path) -> bool:
    """Is it there, and not behind a link that was put in place of a folder?"""
    return os.path.lexists(path) and (path.parent == folder or path.parent.resolve() == path.parent)


def _copy(folder: Path, root: Path, only: frozenset[str] | None) -> str:
    digest = hashlib.sha256()
    files = size = 0
    if only is None:
        sources = walk(folder, skipped=".git")
    else:
        sources = (path for path in map(folder.joinpath, sorted(only)) if _lies_in(path, folder))
    for source in sources:
        relative = source.relative_to(folder)
        target = root / relative
        seen = source.lstat()
        if stat.S_ISDIR(seen.st_mode):
            target.mkdir(parents=True, exist_ok=True)
            continue
        if stat.S_ISLNK(seen.st_mode):
            content = os.fsencode(os.readlink(source))
            target.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(os.fsdecode(content), target)
        elif stat.S_ISREG(seen.st_mode):
            files, size = files + 1, size + seen.st_size
            _bound(files, size)
            try:
                content = source.read_bytes()
            except OSError as problem:
                raise _unwritable(str(relative), problem) from problem
            _write_file(target, content, executable=bool(seen.st_mode & stat.S_IXUSR))
        else:
            continue  # a pipe or a socket is no manifest
        label = os.fsencode(str(relative))
        digest.update(b"%d %d %d\0" % (stat.S_IFMT(seen.st_mode), len(label), len(content)) + label + content)
    return digest.hexdigest()

"""A Git repository: a checkout, a bare repository, or a URL that is fetched into a cache.

User repositories and work trees are never written to: commits are read from Git's objects. A URL is fetched
shallowly, one commit at a time, and only if the network is allowed; `file://` is read in place.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from whysync.argocd.repo_server.git.command import (
    FETCHING,
    Git,
    GitFailed,
    Setting,
    View,
    git_dir_files,
    settings_in,
    without_credentials,
)
from whysync.argocd.repo_server.git.revisions import RevisionUnknown, commit_of, is_commit, refs_in
from whysync.argocd.repo_server.git.tree import Tree, tree_of_commit, tree_of_folder
from whysync.errors import NotFound, Refused, Unreadable

_LOCAL: Final = "file://"
# The protocols that a fetch from a URL may use, including redirects.
_PROTOCOLS: Final = {
    "https://": "https",
    "http://": "http:https",
    "ssh://": "ssh",
    "git://": "git",
}
_SAFE: Final = "safe.directory"
_REFS_FILE: Final = "whysync.refs"
_MAX_CACHE_BYTES: Final = 4 << 30


class Repo:
    """Opened with `open_repo`. `url` is the repoURL in Applications, if known."""

    def __init__(self, git: Git, *, url: str = "", remote: str = "", offline: bool = False) -> None:
        """With `offline`, only what earlier fetches left in the cache is available."""
        self.git = git
        self.url = url
        self._remote = remote
        self._offline = offline
        self._refs: dict[str, str] | None = None

    def known_as(self, url: str) -> Repo:
        """The same repository with another repoURL."""
        return Repo(self.git, url=without_credentials(url), remote=self._remote, offline=self._offline)

    def remotes(self) -> tuple[str, ...]:
        """The URLs of the remotes that a checkout or a bare repository is configured with."""
        if not isinstance(self.git.repository, View):
            return ()
        settings = self.git.repository.settings
        return tuple(value for key, value in settings if key.startswith("remote.") and key.endswith(".url"))

    def refs(self) -> dict[str, str]:
        """Reference names and commits, including `HEAD`; cached. Raises `GitFailed`."""
        if self._refs is None:
            if self._offline:
                listing = self._refs_file().read_text(errors="replace")
            elif self._remote:
                try:
                    listing = self.git.text(
                        "ls-remote",
                        "--end-of-options",
                        self._remote,
                        bounds=FETCHING,
                        protocols=_protocols(self._remote),
                    )
                except GitFailed as problem:
                    raise GitFailed(
                        f"failed to list refs: {problem.message}", complaint=problem.complaint
                    ) from None
                self._refs_file().write_text(listing, errors="replace")
            else:
                done = self.git.run(("show-ref", "--head", "-d"))
                listing = done.out.decode("utf-8", "replace")  # empty in a repository without commits
            self._refs = refs_in(listing)
        return self._refs

    def _refs_file(self) -> Path:
        """The references at the last fetch."""
        assert isinstance(self.git.repository, Path)
        return self.git.repository / _REFS_FILE

    def forget(self) -> None:
        """Clears the cached references."""
        self._refs = None

    def resolve(self, revision: str, *, tag_prefix: str = "") -> str:
        """The full commit of a revision, as Argo CD resolves it. Raises `RevisionUnknown`, `GitFailed`."""
        if is_commit(revision):
            return revision.lower()
        refs = self.refs()
        try:
            commit = commit_of(revision, refs, tag_prefix=tag_prefix)
        except RevisionUnknown:
            # A clone in CI often has no local branches, only remote-tracking ones.
            commit = refs.get(f"refs/remotes/origin/{revision}", "")
            if not commit:
                raise
        if is_commit(commit) or self._remote:
            return commit
        return self.commit(commit)

    def commit(self, expression: str) -> str:
        """The commit of any revision expression of Git, such as `HEAD~2` or `origin/main`."""
        if expression.startswith("-") or "\x00" in expression:
            raise GitFailed(f"'{expression}' is no revision")
        return self.git.text(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{expression}^{{commit}}"
        ).strip()

    def has(self, commit: str) -> bool:
        return (
            self.git.run(("cat-file", "-e", f"{commit}^{{tree}}")).code == 0 if is_commit(commit) else False
        )

    def tree(self, commit: str) -> Tree:
        """The files of a commit, in a temporary directory. Raises `GitFailed`."""
        if not self.has(commit):
            self._fetch(commit)
        return tree_of_commit(self.git, commit)

    def merge_base(self, left: str, right: str) -> str:
        """The merge base of two commits; `GitFailed` if there is none, or if the clone is too shallow."""
        for commit in (left, right):
            if not self.has(commit):
                self._fetch(commit)
        return self.git.text("merge-base", "--end-of-options", left, right).strip()

    def changed_paths(self, base: str, head: str) -> tuple[str, ...]:
        """The paths that differ between two commits; a rename counts as two paths."""
        for commit in (base, head):
            if not self.has(commit):
                self._fetch(commit)
        listing = self.git.bytes(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", base, head
        )
        return tuple(sorted(os.fsdecode(path) for path in listing.split(b"\0") if path))

    def read(self, commit: str, path: str) -> bytes:
        """The content of one file of a commit."""
        return self.git.bytes("cat-file", "blob", f"{commit}:{path}")

    def _fetch(self, commit: str) -> None:
        if self._offline:
            raise Unreadable(
                what=f"commit {commit[:12]} of {self.url} is not in the cache",
                why="the network is used only with --network",
                next="allow it with --network",
            )
        if not self._remote:
            raise GitFailed(
                f"failed to checkout revision {commit}: `git checkout --force {commit}` failed "
                f"exit status 128: fatal: unable to read tree ({commit})",
                complaint="no such commit here",
            )
        assert isinstance(self.git.repository, Path)
        with _locked(self.git.repository):
            self.git.text(
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                "--end-of-options",
                self._remote,
                commit,
                bounds=FETCHING,
                protocols=_protocols(self._remote),
            )


def open_repo(location: str, *, url: str = "", network: bool = False, cache: Path | None = None) -> Repo:
    """Opens a checkout, a folder in one, a bare repository or a URL.

    `url` is its repoURL in Applications; by default that of the `origin` remote. Raises `NotFound`,
    `Refused`, `GitFailed`.
    """
    if location.lower().startswith(_LOCAL):
        url = url or location
        location = unquote(location[len(_LOCAL) :])
    elif _is_remote(location):
        return _open_remote(location, network=network, cache=cache or cache_folder())
    folder = Path(location)
    if not folder.is_dir():
        raise NotFound(
            what=f"there is no folder {location!r}",
            why="a repository is a checkout, a bare repository, or a URL",
            next="give one of these",
        )
    view = _view(folder.resolve())
    origin_url = url or dict(view.settings).get("remote.origin.url", "")
    return Repo(Git(view), url=without_credentials(origin_url) or str(folder))


def work_tree(path: str) -> Path | None:
    """The root of the checkout that contains a folder; `None` if there is none."""
    folder = Path(path).resolve()
    return next((candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists()), None)


def tree_of_work_tree(place: str) -> Tree:
    """The files of a work tree except ignored ones; all files of a folder that is not in a checkout."""
    root = work_tree(place)
    if root is None:
        return tree_of_folder(Path(place))
    listing = Git(_view(root)).bytes(
        "--work-tree", str(root), "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"
    )
    return tree_of_folder(root, only=frozenset(os.fsdecode(path) for path in listing.split(b"\0") if path))


def _protocols(url: str) -> str:
    """The protocols that a fetch from this URL may use; an scp-like address uses ssh."""
    return next(
        (protocols for start, protocols in _PROTOCOLS.items() if url.lower().startswith(start)), "ssh"
    )


def _is_remote(location: str) -> bool:
    if location.lower().startswith(tuple(_PROTOCOLS)):
        return True
    host, colon, _ = location.partition(":")  # git@host:path
    return bool(colon) and "/" not in host and not Path(location).exists()


def _view(folder: Path) -> View:
    """The repository of a folder. It is discovered by Git, so Git's owner check applies."""
    root = work_tree(str(folder)) or folder
    git_dir = _discovered_git_dir(root)
    if git_dir is None and _discovered_git_dir(root, [(_SAFE, str(root))]) is not None:
        git_dir = _discovered_git_dir(root, _safe_directories())
        if git_dir is None:
            raise Unreadable(
                what=f"git refuses to read {str(root)!r}: another user owns it",
                why="the configuration of a repository can name commands, so git checks its owner",
                next=f"if you trust it: git config --global --add {_SAFE} {shlex.quote(str(root))}",
            )
    if git_dir is None:
        raise NotFound(
            what=f"{str(folder)!r} is not a Git repository",
            why="neither it nor a folder above it has a valid .git",
            next="give a checkout, a bare repository or a URL; or compare folders without --base and --head",
        )
    pointer = git_dir / "commondir"
    common = (git_dir / pointer.read_text().strip()).resolve() if pointer.is_file() else git_dir
    listing = Git().run(("config", "--file", str(common / "config"), "--no-includes", "--null", "--list"))
    view = View(git_dir=git_dir, common_dir=common, settings=settings_in(listing.out))
    if git_dir != common and (common / "reftable").exists():
        raise Unreadable(
            what=f"{str(root)!r} is a linked work tree of a repository with reftable references",
            why="whysync reads reftable references only in the main work tree",
            next="run it there, with --head for the commit of this one",
        )
    return view


def _discovered_git_dir(root: Path, user_config: list[Setting] | None = None) -> Path | None:
    """The git directory of a work tree or a bare repository; only its configuration is read."""
    done = Git().run(("rev-parse", "--absolute-git-dir"), folder=root, user_config=user_config or ())
    return Path(os.fsdecode(done.out.removesuffix(b"\n"))) if done.code == 0 else None


def _safe_directories() -> list[Setting]:
    """The `safe.directory` settings of the system and the user."""
    arguments = ("config", "--null", "--type=path", "--get-all", _SAFE)
    listing = Git().run(arguments, user_config=None).out
    return [(_SAFE, os.fsdecode(directory)) for directory in listing.split(b"\0")[:-1]]


def cache_folder() -> Path:
    configured = os.environ.get("WHYSYNC_CACHE")
    if configured:
        return Path(configured)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "whysync"


def cached_repo(url: str, *, cache: Path | None = None) -> Repo | None:
    """The repository of a URL as the last fetch left it in the cache."""
    public = without_credentials(url)
    git_dir = _cached_git_dir(public, cache or cache_folder())
    if not _is_remote(url) or not (git_dir / _REFS_FILE).is_file():
        return None
    return Repo(Git(git_dir), url=public, remote=url, offline=True)


def _cached_git_dir(public: str, cache: Path) -> Path:
    """The name of the cache folder does not depend on credentials."""
    return cache / "git" / f"{hashlib.sha256(public.encode()).hexdigest()[:32]}.git"


def _open_remote(url: str, *, network: bool, cache: Path) -> Repo:
    public = without_credentials(url)
    if not network:
        raise Refused(
            what=f"{public} is not fetched",
            why="the network is used only with --network",
            next="allow it with --network, or give a local clone of the repository",
        )
    if url.startswith("-") or any(char in url for char in "\x00\n\r"):
        raise Refused(
            what="this is not the URL of a repository",
            why="it contains shell characters",
            next="correct the URL",
        )
    git_dir = _cached_git_dir(public, cache)
    try:
        _evict(git_dir)
        _make_cache(git_dir)
    except OSError as problem:
        raise Unreadable(
            what=f"the cache {str(git_dir)!r} cannot be used",
            why=str(problem),
            next="delete it, or set WHYSYNC_CACHE to a folder of your own",
        ) from problem
    return Repo(Git(git_dir), url=public, remote=url)


def _evict(keep: Path) -> None:
    """Deletes the repositories that were fetched longest ago while the cache is too large."""
    if not keep.parent.is_dir():
        return
    repositories = [path for path in keep.parent.iterdir() if path.suffix == ".git" and path != keep]
    sizes = {path: _size(path) for path in (keep, *repositories)}
    total = sum(sizes.values())
    for path in sorted(repositories, key=lambda path: path.stat().st_mtime):
        if total <= _MAX_CACHE_BYTES:
            return
        shutil.rmtree(path, ignore_errors=True)
        total -= sizes[path]


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _make_cache(git_dir: Path) -> None:
    """Creates a git directory for objects; in an existing one, other settings are replaced."""
    for name in ("objects", "refs"):
        (git_dir / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(git_dir):
        (git_dir / "commondir").unlink(missing_ok=True)
        for name, text in git_dir_files(head="ref: refs/heads/main\n").items():
            file = git_dir / name
            if file.is_symlink() or not file.is_file() or file.read_text(errors="replace") != text:
                file.unlink(missing_ok=True)
                file.write_text(text)


@contextmanager
def _locked(git_dir: Path) -> Generator[None]:
    """Locks the git directory against other whysync processes."""
    import fcntl

    with (git_dir / "whysync.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""A checkout with two sides: the base revision and the head to be merged."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.repo_server.git import GitFailed, Repo, Tree, open_repo, tree_of_work_tree, work_tree
from whysync.argocd.repo_server.git.revisions import is_commit
from whysync.argocd.repo_server.git.tree import walk
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.git_url import repository_key
from whysync.argocd.repo_server.render import RenderOptions
from whysync.argocd.repo_server.render.options import with_settings
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.errors import NotFound, UsageError
from whysync.json_tree import Object, fields, items, text
from whysync.plan.generator_inputs import GeneratorFiles

_MAINS: Final = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


class Side(msgspec.Struct, kw_only=True):
    """Files at a commit; `revision` is its display name."""

    commit: str
    revision: str
    tree: Tree


class Checkout(msgspec.Struct, kw_only=True):
    root: Path
    repo: Repo
    base: Side
    head: Side
    network: bool = False
    argocd_namespace: str = "argocd"
    argocd_cm: Object | None = None
    """Argo CD's settings, some of which are options of Helm and Kustomize; `None` if unknown."""
    kustomize_build_options: str | None = None
    """From the files of the head, if the settings are not known."""
    generator_files: GeneratorFiles = GeneratorFiles()
    _foreign: GitSources | None = msgspec.field(default=None)
    _changed: frozenset[str] | None = msgspec.field(default=None)
    _head_files: frozenset[str] | None = msgspec.field(default=None)
    _failed: dict[bytes, RepoProblem] = msgspec.field(default_factory=dict[bytes, RepoProblem])

    def changed_paths(self) -> frozenset[str]:
        """Files that differ between the two sides."""
        if self._changed is None:
            old, new = _files(self.base.tree.root), _files(self.head.tree.root)
            self._changed = frozenset(path for path in old.keys() | new.keys() if _differ(path, old, new))
        return self._changed

    def head_files(self) -> frozenset[str]:
        if self._head_files is None:
            self._head_files = frozenset(_files(self.head.tree.root))
        return self._head_files

    def folders_of(self, application: Object) -> set[str]:
        """The folders of this checkout that an Application deploys."""
        return {
            text(source.get("path")).strip("/").removeprefix("./")
            for source in sources_of(application)
            if source.get("path") and self.contains_source(source)
        }

    def contains_source(self, source: Object) -> bool:
        """Is it a source whose files are in this checkout?"""
        url = text(source.get("repoURL"))
        if not url or source.get("chart") or url.startswith("oci://"):
            return False
        own = self.repo.url
        if repository_key(url) == repository_key(own) or _owner_and_name(url) == _owner_and_name(own):
            return True
        if _is_url(own):
            return False
        # A checkout without an origin may belong to any repository: its folders decide.
        path = text(source.get("path")).strip("/") or "."
        return any(_inside(side.tree.root, path) for side in (self.head, self.base))

    def foreign_tree(self, url: str, revision: str) -> Tree:
        """The files of another repository, which is fetched only with `--network`. Raises `RepoProblem`."""
        if self._foreign is None:
            self._foreign = GitSources(options=RenderOptions(network=self.network))
        source: Object = {"repoURL": url}
        return self._foreign.tree(source, self._foreign.resolve(source, revision))

    def sources(self, applications: list[Object], side: Side) -> GitSources:
        """The renderer of these Applications, with this side for every branch of this repository."""
        side.tree.unshare()
        every = [source for application in applications for source in sources_of(application)]
        urls = sorted({text(source.get("repoURL")) for source in every if self.contains_source(source)})
        own = {repository_key(url) for url in urls}
        tags = {name.removeprefix("refs/tags/") for name in self.repo.refs() if name.startswith("refs/tags/")}

        def commit_override(url: str, revision: str) -> str:
            pinned = is_commit(revision) or revision in tags
            return "" if pinned or repository_key(url) not in own else side.commit

        repos = [self.repo.known_as(url) for url in urls]
        options = RenderOptions(network=self.network)
        if self.argocd_cm is not None:
            options = with_settings(options, self.argocd_cm)
        elif self.kustomize_build_options is not None:
            options = replace(
                options, knows_settings=True, kustomize_build_options=self.kustomize_build_options
            )
        sources = GitSources(
            repos,
            options=options,
            commit_override=commit_override,
            failed=self._failed,
            argocd_namespace=self.argocd_namespace,
        )
        for url in urls:
            sources.add_tree(url, side.commit, side.tree)
        return sources

    def close(self) -> None:
        if self._foreign is not None:
            self._foreign.close()
        self.base.tree.close()
        self.head.tree.close()

    def __enter__(self) -> Checkout:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_checkout(location: str, *, base: str = "", head: str = "", network: bool = False) -> Checkout:
    """Open a checkout; `head` is empty for the work tree, `base` for the merge base with the main branch."""
    root = work_tree(location)
    if root is None:
        raise NotFound(
            what=f"{location!r} is in no Git checkout",
            why="a plan compares two commits of one repository",
            next="run it in a checkout, or name a path in one",
        )
    repo = open_repo(str(root))
    after = _commit(repo, head, "--head") if head else ""
    before = _commit(repo, base, "--base") if base else _parting(repo, after or "HEAD")
    old = repo.tree(before)
    try:
        new = repo.tree(after) if after else tree_of_work_tree(str(root))
    except BaseException:
        old.close()
        raise
    return Checkout(
        root=root,
        repo=repo,
        base=Side(commit=before, revision=_short(base or before), tree=old),
        head=Side(commit=after or new.identity[:40], revision=_short(head) or "work tree", tree=new),
        network=network,
    )


def _short(revision: str) -> str:
    """`1a2b3c4` for a whole commit, `1a2b3c4^` for its parent."""
    commit, suffix = revision[:40], revision[40:]
    return f"{commit[:7]}{suffix}" if is_commit(commit) and suffix[:1] in ("", "^", "~") else revision


def _commit(repo: Repo, revision: str, flag: str) -> str:
    """Resolve a revision; a branch that a CI clone only has as a remote branch is found there."""
    why = ""
    for expression in (revision, f"refs/remotes/origin/{revision}"):
        try:
            return repo.commit(expression)
        except GitFailed as problem:
            why = why or problem.message
    raise UsageError(
        what=f"{flag} {revision!r} is no commit of this repository",
        why=why,
        next="give a branch, a tag or a commit; a shallow clone of CI may lack it: fetch it first",
    )


def _parting(repo: Repo, head: str) -> str:
    """The merge base of the head and the main branch."""
    for main in _MAINS:
        try:
            return repo.merge_base(repo.commit(main), repo.commit(head))
        except GitFailed:
            continue
    raise UsageError(
        what="the base revision is not known",
        why=f"none of {', '.join(_MAINS)} is a commit here that it shares history with",
        next="give --base, such as --base main",
    )


def sources_of(application: Object) -> list[Object]:
    spec = fields(application.get("spec"))
    if has_multiple_sources(spec):
        return [fields(source) for source in items(spec.get("sources"))]
    return [source_of(spec)]


def _files(root: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(root)): path for path in walk(root) if path.is_symlink() or not path.is_dir()
    }


def _differ(path: str, old: dict[str, Path], new: dict[str, Path]) -> bool:
    old_file, other = old.get(path), new.get(path)
    if old_file is None or other is None or old_file.is_symlink() != other.is_symlink():
        return True
    if old_file.is_symlink():
        return os.readlink(old_file) != os.readlink(other)
    return old_file.stat().st_size != other.stat().st_size or old_file.read_bytes() != other.read_bytes()


def _inside(root: Path, path: str) -> bool:
    resolved = (root / path).resolve()
    return resolved.is_relative_to(root) and resolved.exists()


def _is_url(location: str) -> bool:
    return "://" in location or ("@" in location and ":" in location)


def _owner_and_name(url: str) -> str:
    """`owner/name`, so that HTTPS and SSH addresses are equal."""
    if not _is_url(url):
        return f"local:{url}"
    parts = repository_key(url).replace(":", "/").split("/")
    return "/".join(parts[-2:])

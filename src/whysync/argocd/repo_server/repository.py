"""`Repository`: resolves revisions and renders sources for the repo-server; in-memory repositories.

The caches of the repo-server are in `repo_server/server.py`. Errors are `RepoProblem`s with the repo-server's
message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from whysync.argocd.api.git_head import Head
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.clock import Clock


class RepoProblem(Exception):
    """A repository cannot be read, or a source cannot be rendered; the message is the repo-server's.

    `code` is the gRPC code: mostly `Unknown`; `DeadlineExceeded` or `Unavailable` for the repo-server itself.
    """

    def __init__(self, message: str, *, code: str = "Unknown") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests of a source at a commit. The tuple must be identical as long as nothing changed."""

    manifests: tuple[Object, ...]
    source_type: str = "Directory"
    """`Directory`, `Helm`, `Kustomize`, `Plugin`."""


class Repository(Protocol):
    """All repositories of an Argo CD."""

    def resolve(self, source: Object, revision: str) -> str:
        """The commit (or chart version) of a branch, tag or range. Raises `RepoProblem`."""
        ...

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        """The manifests of a source at a commit, without tracking metadata. Raises `RepoProblem`."""
        ...

    def heads(self) -> Sequence[Head]:
        """The current commits of the branches, for a snapshot."""
        ...


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """One path of a repository at one commit: its manifests, or the error of rendering.

    `error` applies from `error_from` until `error_until`, if set: for example while a chart registry is down.
    """

    manifests: tuple[Object, ...] = ()
    error: str = ""
    code: str = "Unknown"
    """The gRPC code of the error."""
    error_from: datetime | None = None
    error_until: datetime | None = None
    source_type: str = "Directory"
    random: bool = False
    """Rendering is not deterministic: each rendering replaces RANDOM in the manifests by another text."""

    def problem_at(self, now: datetime) -> str:
        begun = self.error_from is None or now >= self.error_from
        over = self.error_until is not None and now >= self.error_until
        return self.error if begun and not over else ""


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A period in which a repository returns an error, such as expired credentials."""

    text: str
    since: datetime | None = None
    until: datetime | None = None
    code: str = "Unknown"

    def is_active(self, now: datetime) -> bool:
        return (self.since is None or now >= self.since) and (self.until is None or now < self.until)


class GitRepository(msgspec.Struct, kw_only=True):
    """An in-memory Git repository: commits of rendered folders, and branches."""

    url: str
    clock: Clock
    commits: dict[str, dict[str, Folder]] = msgspec.field(default_factory=dict[str, dict[str, Folder]])
    branches: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    default_branch: str = "main"
    outages: list[Outage] = msgspec.field(default_factory=list[Outage])
    renderings: int = 0
    """The number of renderings of folders with `random`."""

    def push(
        self,
        folders: Mapping[str, Folder | Iterable[Object]],
        *,
        branch: str = "",
        commit: str = "",
    ) -> str:
        """Adds a commit to a branch; folders that are not passed stay unchanged.

        Without `commit`, its name is a hash of its contents and its parent.
        """
        branch = self._branch(branch)
        before = self.commits.get(self.branches.get(branch, ""), {})
        after = {
            **before,
            **{
                path: folder if isinstance(folder, Folder) else Folder(manifests=tuple(folder))
                for path, folder in folders.items()
            },
        }
        name = commit or self._name(branch, after)
        self.commits[name] = after
        self.branches[branch] = name
        return name

    def _name(self, branch: str, folders: Mapping[str, Folder]) -> str:
        identity = msgspec.json.encode(
            [
                self.url,
                self.branches.get(branch, ""),
                len(self.commits),
                [[path, folder.error, folder.manifests] for path, folder in sorted(folders.items())],
            ]
        )
        return hashlib.sha256(identity).hexdigest()[:40]

    def _branch(self, revision: str) -> str:
        """The branch of a revision; `HEAD` is the default branch."""
        return self.default_branch if revision in ("", "HEAD") else revision.removeprefix("refs/heads/")

    def default_head(self) -> dict[str, str]:
        commit = self.branches.get(self.default_branch)
        return {"HEAD": commit} if commit is not None else {}

    def resolve(self, revision: str) -> str:
        self.check()
        head = self.branches.get(self._branch(revision))
        if head is not None:
            return head
        if len(revision) == 40 and all(letter in "0123456789abcdef" for letter in revision):
            return revision
        short = [name for name in self.commits if len(revision) >= 7 and name.startswith(revision)]
        if len(short) == 1:
            return short[0]
        raise RepoProblem(f"unable to resolve '{revision}' to a commit SHA: revision not found")

    def render(self, source: Object, commit: str) -> Rendered:
        path = text(source.get("path")) or text(source.get("chart"))
        folders = self.commits.get(commit)
        if folders is None:
            self.check()
            raise RepoProblem(
                f"failed to checkout revision {commit}: `git checkout --force {commit}` failed "
                f"exit status 128: fatal: unable to read tree ({commit})"
            )
        folder = folders.get(path.strip("/") or ".")
        if folder is None:
            raise RepoProblem(f"{path}: app path does not exist")
        problem = folder.problem_at(self.clock.now)
        if problem:
            raise RepoProblem(problem, code=folder.code)
        manifests = folder.manifests
        if folder.random:
            self.renderings += 1
            manifests = tuple(self._randomized(manifest) for manifest in manifests)
        return Rendered(manifests=manifests, source_type=folder.source_type)

    def _randomized(self, manifest: Object) -> Object:
        """The manifest with RANDOM replaced by 16 hex digits, which are the same in one rendering."""
        seed = f"{self.url} {self.renderings}".encode()
        random_text = hashlib.sha256(seed).hexdigest()[:16].encode()
        randomized: Object = msgspec.json.decode(
            msgspec.json.encode(manifest).replace(b"RANDOM", random_text)
        )
        return randomized

    def check(self) -> None:
        """Raises `RepoProblem` during an outage."""
        for outage in self.outages:
            if outage.is_active(self.clock.now):
                raise RepoProblem(outage.text, code=outage.code)


class GitRepositories:
    """Several in-memory repositories, by their normalized URL."""

    def __init__(self, repositories: Iterable[GitRepository]) -> None:
        self.all = list(repositories)

    def get(self, url: str) -> GitRepository | None:
        normalized = normalize_git_url(url)
        return next(
            (repository for repository in self.all if normalize_git_url(repository.url) == normalized), None
        )

    def resolve(self, source: Object, revision: str) -> str:
        return self._repository(source).resolve(revision)

    def render(self, application: Object, source: Object, commit: str) -> Rendered:  # noqa: ARG002  (of Repository)
        return self._repository(source).render(source, commit)

    def has_applications(self) -> bool:
        """Does any commit deploy Applications?"""
        return any(
            obj.get("kind") == "Application"
            for repository in self.all
            for folders in repository.commits.values()
            for folder in folders.values()
            for obj in folder.manifests
        )

    def heads(self) -> Sequence[Head]:
        return tuple(
            Head(repo=repository.url, revision=branch, commit=commit)
            for repository in self.all
            for branch, commit in sorted({**repository.default_head(), **repository.branches}.items())
        )

    def _repository(self, source: Object) -> GitRepository:
        url = text(fields(source).get("repoURL"))
        repository = self.get(url)
        if repository is None:
            raise RepoProblem("failed to list refs: authentication required: Repository not found.")
        return repository

"""Where manifests come from: what Argo CD asks of its repositories, and repositories in memory.

`Repository` stands behind Argo CD's repo-server; the caches of the repo-server are not its affair (they are
in `repo_server.py`). What it raises is a `RepoProblem` with the text that the repo-server would tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import msgspec

from whysync.argocd.api.git_head import Head
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.clock import Clock


class RepoProblem(Exception):
    """A repository that does not answer, or a source that cannot be rendered; the text is the repo-server's.

    `code` is that of gRPC: `Unknown` for nearly all, `DeadlineExceeded`, `Unavailable` for the server itself.
    """

    def __init__(self, message: str, *, code: str = "Unknown") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a source gives at a commit. The list must stay the same one as long as nothing changed."""

    manifests: tuple[Object, ...]
    source_type: str = "Directory"
    """`Directory`, `Helm`, `Kustomize`, `Plugin`."""


class Repository(Protocol):
    """All repositories of an Argo CD."""

    def resolve(self, source: Object, revision: str) -> str:
        """The commit (or chart version) of a branch, tag or range. Raises `RepoProblem`."""
        ...

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        """The manifests of a source at a commit, without tracking marks. Raises `RepoProblem`."""
        ...

    def heads(self) -> Sequence[Head]:
        """What the branches point at now, whoever has seen it: facts for a snapshot."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One path of a repository at one commit: its manifests, or why they cannot be rendered.

    `error` holds from `error_from` until `error_until`, where these are told: a chart registry that is away
    for an hour, with nothing changed in Git.
    """

    manifests: tuple[Object, ...] = ()
    error: str = ""
    code: str = "Unknown"
    """That of gRPC with which the error comes."""
    error_from: datetime | None = None
    error_until: datetime | None = None
    source_type: str = "Directory"
    random: bool = False
    """The tool makes something up: where the manifests say RANDOM, each rendering has another text."""

    def problem_at(self, now: datetime) -> str:
        begun = self.error_from is None or now >= self.error_from
        over = self.error_until is not None and now >= self.error_until
        return self.error if begun and not over else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time in which a repository answers with an error: unreachable, credentials expired."""

    text: str
    since: datetime | None = None
    until: datetime | None = None
    code: str = "Unknown"

    def holds_at(self, now: datetime) -> bool:
        return (self.since is None or now >= self.since) and (self.until is None or now < self.until)


@dataclass(slots=True, kw_only=True)
class GitRepository:
    """A Git repository in memory: commits of rendered folders, and branches that a push moves."""

    url: str
    clock: Clock
    commits: dict[str, dict[str, Folder]] = field(default_factory=dict[str, dict[str, Folder]])
    branches: dict[str, str] = field(default_factory=dict[str, str])
    default_branch: str = "main"
    outages: list[Outage] = field(default_factory=list[Outage])
    renderings: int = 0
    """How often something was made up."""

    def push(
        self,
        folders: Mapping[str, Folder | Iterable[Object]],
        *,
        branch: str = "",
        commit: str = "",
    ) -> str:
        """A new commit on a branch, now; folders that are not named stay as the branch had them.

        Without a `commit`, its name follows from what came before and what is in it.
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
        """`HEAD` is the default branch, for a push as for a look."""
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
            manifests = tuple(self._made_up(manifest) for manifest in manifests)
        return Rendered(manifests=manifests, source_type=folder.source_type)

    def _made_up(self, manifest: Object) -> Object:
        """Sixteen letters and digits, the same in all of one rendering."""
        seed = f"{self.url} {self.renderings}".encode()
        fresh = hashlib.sha256(seed).hexdigest()[:16].encode()
        made: Object = msgspec.json.decode(msgspec.json.encode(manifest).replace(b"RANDOM", fresh))
        return made

    def check(self) -> None:
        """Raises `RepoProblem` during an outage."""
        for outage in self.outages:
            if outage.holds_at(self.clock.now):
                raise RepoProblem(outage.text, code=outage.code)


class GitRepositories:
    """Several repositories, found by their URL as Argo CD normalises it."""

    def __init__(self, repositories: Iterable[GitRepository]) -> None:
        self.all = list(repositories)

    def get(self, url: str) -> GitRepository | None:
        wanted = normalize_git_url(url)
        return next(
            (repository for repository in self.all if normalize_git_url(repository.url) == wanted), None
        )

    def resolve(self, source: Object, revision: str) -> str:
        return self._repository(source).resolve(revision)

    def render(self, application: Object, source: Object, commit: str) -> Rendered:  # noqa: ARG002
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

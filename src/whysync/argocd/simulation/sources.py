"""Repositories in memory in which the sources of an Application render to given manifests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.argocd.repo_server.repository import Folder, GitRepositories, GitRepository
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.last_applied import last_applied

_COMMIT_LENGTH: Final = 40


class AppSource(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    path: str
    branch: str
    commit: str
    """The commit that the app was last compared to; empty if unknown."""
    type: str
    renders: bool
    """False for a source whose files are only referenced by other sources (`ref`)."""


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    all: tuple[AppSource, ...]

    @property
    def main(self) -> AppSource:
        """The source that all manifests are assigned to: facts do not contain the source of a manifest."""
        return next((source for source in self.all if source.renders), self.all[0])


class PinnedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that a running operation syncs although its branch has newer commits."""

    commit: str
    manifests: tuple[Object, ...]


def pinned_commit(
    application: Object, desired: Iterable[Object], live: Iterable[Object]
) -> PinnedCommit | None:
    """The commit of the running operation, if it differs from the compared one.

    Facts do not contain its manifests; they are taken from the last-applied annotations.
    """
    if "operation" not in application or has_multiple_sources(fields(application.get("spec"))):
        return None
    status = fields(application.get("status"))
    state = fields(status.get("operationState"))
    commit = text(dig(state, "syncResult", "revision")) or text(dig(state, "operation", "sync", "revision"))
    if len(commit) < _COMMIT_LENGTH or commit == dig(status, "sync", "revision"):
        return None
    namespace = text(dig(application, "spec", "destination", "namespace"))
    applied = {
        ref_of(live_object).key: applied_object
        for live_object in live
        if (applied_object := last_applied(live_object)) is not None
    }
    manifests = [
        applied.get(key) or applied.get(key._replace(namespace=namespace)) or desired_object
        for desired_object in desired
        for key in (ref_of(desired_object).key,)
    ]
    return PinnedCommit(commit=commit, manifests=tuple(manifests))


def sources_of(application: Object) -> Sources:
    spec = fields(application.get("spec"))
    status = fields(application.get("status"))
    sync = fields(status.get("sync"))
    has_multiple = has_multiple_sources(spec)
    raw = [fields(source) for source in items(spec.get("sources"))] if has_multiple else [source_of(spec)]
    commits = (
        [text(revision) for revision in items(sync.get("revisions"))]
        if has_multiple
        else [text(sync.get("revision"))]
    )
    types = (
        [text(source_type) for source_type in items(status.get("sourceTypes"))]
        if has_multiple
        else [text(status.get("sourceType"))]
    )
    return Sources(
        all=tuple(
            AppSource(
                url=text(source.get("repoURL")),
                path=(text(source.get("path")) or text(source.get("chart"))).strip("/") or ".",
                branch=text(source.get("targetRevision")),
                commit=commits[index] if index < len(commits) else "",
                type=(types[index] if index < len(types) else "") or "Directory",
                renders=len(raw) == 1 or bool(source.get("path") or source.get("chart")),
            )
            for index, source in enumerate(raw)
        )
    )


def repositories_of(
    application: Object, desired: Iterable[Object], clock: Clock, pinned: PinnedCommit | None = None
) -> GitRepositories:
    """Repositories in which each branch points to the last compared commit; `pinned` is an earlier commit."""
    sources = sources_of(application)
    repositories: dict[str, GitRepository] = {}
    for source in sources.all:
        git = repositories.setdefault(
            normalize_git_url(source.url), GitRepository(url=source.url, clock=clock)
        )
        objects = tuple(desired) if source is sources.main else ()
        branch = source.branch or git.default_branch
        if pinned is not None and source is sources.main:
            before = Folder(manifests=pinned.manifests, source_type=source.type)
            git.push({source.path: before}, branch=branch, commit=pinned.commit)
        folder = Folder(manifests=objects, source_type=source.type)
        git.push({source.path: folder}, branch=branch, commit=source.commit)
    return GitRepositories(repositories.values())

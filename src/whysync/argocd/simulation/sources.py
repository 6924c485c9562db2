"""Repositories in memory in which the sources of an Application render to given manifests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.argocd.repo_server.repository import Folder, GitRepositories, GitRepository
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.merge.last_applied import last_applied

_COMMIT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOf:
    url: str
    path: str
    branch: str
    commit: str
    """With which the app was compared last; empty where that is not known."""
    type: str
    renders: bool
    """False for one that only lends its files to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    all: tuple[SourceOf, ...]

    @property
    def main(self) -> SourceOf:
        """The one that all manifests are said to come from: which comes from which the facts do not tell."""
        return next((source for source in self.all if source.renders), self.all[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A commit that an operation under way keeps, though the branch has moved on."""

    commit: str
    manifests: tuple[Object, ...]


def held_by(application: Object, desired: Iterable[Object], live: Iterable[Object]) -> Held | None:
    """What such a commit rendered to the facts do not tell: what it has applied tells for itself."""
    if "operation" not in application or has_multiple_sources(fields(application.get("spec"))):
        return None
    status = fields(application.get("status"))
    state = fields(status.get("operationState"))
    commit = text(dig(state, "syncResult", "revision")) or text(dig(state, "operation", "sync", "revision"))
    if len(commit) < _COMMIT or commit == dig(status, "sync", "revision"):
        return None
    namespace = text(dig(application, "spec", "destination", "namespace"))
    applied = {
        ref_of(live_object).key: applied_object
        for live_object in live
        if (applied_object := last_applied(live_object)) is not None
    }
    made = [
        applied.get(key) or applied.get(key._replace(namespace=namespace)) or desired_object
        for desired_object in desired
        for key in (ref_of(desired_object).key,)
    ]
    return Held(commit=commit, manifests=tuple(made))


def sources_of(application: Object) -> Sources:
    spec = fields(application.get("spec"))
    status = fields(application.get("status"))
    sync = fields(status.get("sync"))
    several = has_multiple_sources(spec)
    raw = [fields(source) for source in items(spec.get("sources"))] if several else [source_of(spec)]
    commits = (
        [text(revision) for revision in items(sync.get("revisions"))]
        if several
        else [text(sync.get("revision"))]
    )
    types = (
        [text(source_type_) for source_type_ in items(status.get("sourceTypes"))]
        if several
        else [text(status.get("sourceType"))]
    )
    return Sources(
        all=tuple(
            SourceOf(
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
    application: Object, desired: Iterable[Object], clock: Clock, held: Held | None = None
) -> GitRepositories:
    """Each branch points at the commit that was compared last; `held` is one before it, still needed."""
    sources = sources_of(application)
    repositories: dict[str, GitRepository] = {}
    for source in sources.all:
        git = repositories.setdefault(
            normalize_git_url(source.url), GitRepository(url=source.url, clock=clock)
        )
        objects = tuple(desired) if source is sources.main else ()
        branch = source.branch or git.default_branch
        if held is not None and source is sources.main:
            before = Folder(manifests=held.manifests, source_type=source.type)
            git.push({source.path: before}, branch=branch, commit=held.commit)
        folder = Folder(manifests=objects, source_type=source.type)
        git.push({source.path: folder}, branch=branch, commit=source.commit)
    return GitRepositories(repositories.values())

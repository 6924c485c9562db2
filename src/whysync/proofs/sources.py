"""Git as the Application knows it: repositories in which its sources render to what the facts say they do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whysync.cluster.model import Clock
from whysync.contracts.tree import Object, fields, items, text
from whysync.engine.argocd import Folder, GitRepositories, GitRepository
from whysync.semantics.policies.sources import has_multiple_sources, source_of


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
        return next((one for one in self.all if one.renders), self.all[0])


def sources_of(application: Object) -> Sources:
    spec = fields(application.get("spec"))
    status = fields(application.get("status"))
    sync = fields(status.get("sync"))
    several = has_multiple_sources(spec)
    raw = [fields(one) for one in items(spec.get("sources"))] if several else [source_of(spec)]
    commits = [text(one) for one in items(sync.get("revisions"))] if several else [text(sync.get("revision"))]
    types = (
        [text(one) for one in items(status.get("sourceTypes"))]
        if several
        else [text(status.get("sourceType"))]
    )
    return Sources(
        all=tuple(
            SourceOf(
                url=text(one.get("repoURL")),
                path=(text(one.get("path")) or text(one.get("chart"))).strip("/") or ".",
                branch=text(one.get("targetRevision")),
                commit=commits[index] if index < len(commits) else "",
                type=(types[index] if index < len(types) else "") or "Directory",
                renders=len(raw) == 1 or bool(one.get("path") or one.get("chart")),
            )
            for index, one in enumerate(raw)
        )
    )


def repositories_of(application: Object, desired: Iterable[Object], clock: Clock) -> GitRepositories:
    """Each branch points at the commit that was compared last."""
    sources = sources_of(application)
    found: dict[str, GitRepository] = {}
    for source in sources.all:
        git = found.setdefault(source.url, GitRepository(url=source.url, clock=clock))
        objects = tuple(desired) if source is sources.main else ()
        folder = Folder(manifests=objects, source_type=source.type)
        git.push({source.path: folder}, branch=source.branch or git.default_branch, commit=source.commit)
    return GitRepositories(found.values())

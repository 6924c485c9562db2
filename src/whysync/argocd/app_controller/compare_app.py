"""Compares one Application as the controller does: renders its sources and calls `compare_app_state`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.live_cache import LiveCache
from whysync.argocd.compare.compare_app_state import compare, compare_with_grace
from whysync.argocd.compare.comparison import Comparison, Inputs, Memory
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.projects import Cluster
from whysync.argocd.repo_server.server import ManifestRequest, Manifests, NoTargets, RepoServer
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Object, fields, items, text


class CompareContext(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of Argo CD that the comparison of an app uses."""

    settings: Settings
    project: AppProject
    cluster: Cluster
    project_clusters: Sequence[Cluster]
    live: LiveCache
    repo_server: RepoServer
    namespace: str
    """The namespace of Argo CD."""
    now: datetime
    memory: Memory
    dry_run: Callable[[Object], Object] | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    comparison: Comparison
    source_types: tuple[str, ...]
    has_changes: bool
    """False if the requested revisions are the ones that were last compared."""


class CompareTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The sources and revisions to compare with."""

    sources: tuple[Object, ...]
    revisions: tuple[str, ...]
    several: bool
    hard: bool = False
    fresh: bool = False
    local: tuple[Object, ...] = ()
    """Manifests that the request contains, used instead of Git's (`argocd app sync --local`)."""


def target_from_spec(application: Object, *, recent: bool, hard: bool, fresh: bool) -> CompareTarget:
    """`recent`: compare with the last compared revision instead of resolving `targetRevision`."""
    spec = fields(application.get("spec"))
    status = fields(fields(application.get("status")).get("sync"))
    has_multiple = has_multiple_sources(spec)
    if has_multiple:
        sources = tuple(fields(source) for source in items(spec.get("sources")))
        compared_revisions = tuple(text(revision) for revision in items(status.get("revisions")))
        revisions = (
            compared_revisions if recent else tuple(text(source.get("targetRevision")) for source in sources)
        )
    else:
        sources = (source_of(spec),)
        revisions = (text(status.get("revision")) if recent else text(sources[0].get("targetRevision")),)
    return CompareTarget(sources=sources, revisions=revisions, several=has_multiple, hard=hard, fresh=fresh)


def compare_app(
    application: Object,
    app: Application,
    target: CompareTarget,
    context: CompareContext,
    *,
    error_since: datetime | None,
    forced: bool,
) -> Compared:
    """`app` is the decoded `application`.

    Raises `NotComparedYet` while Argo CD does not report a repository error yet.
    """
    manifests: Manifests | None = None
    error: str | None = None
    try:
        manifests = _manifests(application, app, target, context)
    except NoTargets as problem:
        error = str(problem)
    inputs = Inputs(
        application=application,
        app=app,
        project=context.project,
        settings=context.settings,
        targets=target.local or (manifests.objects if manifests is not None else ()),
        live=context.live,
        now=context.now,
        scopes=context.live.scopes,
        cluster=context.cluster,
        project_clusters=context.project_clusters,
        control_plane_namespace=context.namespace,
        revisions=manifests.revisions if manifests is not None else target.revisions,
        target_error=error,
        dry_run=context.dry_run,
        schemas=context.live.schemas,
        memory=context.memory,
    )
    comparison = (
        compare(inputs)
        if forced
        else compare_with_grace(
            inputs, first_seen=error_since, grace_seconds=context.settings.repo_error_grace_seconds
        )
    )
    return Compared(
        comparison=comparison,
        source_types=manifests.source_types if manifests is not None else (),
        has_changes=_evaluate_revision_changes(application, target),
    )


def _manifests(
    application: Object, app: Application, target: CompareTarget, context: CompareContext
) -> Manifests | None:
    if target.local:
        return None
    if context.live.destination.unreachable:
        server = context.live.destination.server
        raise NoTargets(
            f'failed to get cluster version for cluster "{server}": '
            f'failed to get cluster info for "{server}": {context.live.problem}'
        )
    request = ManifestRequest(
        application=application,
        instance=instance_name(app.name, app.namespace, context.namespace),
        namespace=app.spec.destination.namespace,
        settings=context.settings,
        hard=target.hard,
        fresh=target.fresh,
    )
    return context.repo_server.manifests(request, target.sources, target.revisions)


def _evaluate_revision_changes(application: Object, target: CompareTarget) -> bool:
    """Mirrors `evaluateRevisionChanges`, Argo CD 3.6; differs: ignores `manifest-generate-paths`."""
    status = fields(fields(application.get("status")).get("sync"))
    compared_revisions = (
        [text(revision) for revision in items(status.get("revisions"))]
        if target.several
        else [text(status.get("revision"))]
    )
    return not (target.revisions and all(target.revisions) and list(target.revisions) == compared_revisions)

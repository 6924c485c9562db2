"""One Application, compared as the controller does it, with all that the controller knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.live_cache import LiveCache
from whysync.argocd.compare.compare_app_state import compare, compare_with_grace
from whysync.argocd.compare.comparison import Comparison, Inputs
from whysync.argocd.compare.diff_memory import Memory
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.projects import Cluster
from whysync.argocd.repo_server.server import ManifestRequest, Manifests, NoTargets, RepoServer
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Object, fields, items, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a comparison of one app needs of Argo CD."""

    settings: Settings
    project: AppProject
    cluster: Cluster
    project_clusters: Sequence[Cluster]
    live: LiveCache
    repo_server: RepoServer
    namespace: str
    """Of Argo CD itself."""
    now: datetime
    memory: Memory
    dry_run: Callable[[Object], Object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    comparison: Comparison
    source_types: tuple[str, ...]
    has_changes: bool
    """False: the revision that was asked for is the one that was compared last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """With what to compare: sources and revisions, and how thoroughly."""

    sources: tuple[Object, ...]
    revisions: tuple[str, ...]
    several: bool
    hard: bool = False
    fresh: bool = False
    local: tuple[Object, ...] = ()
    """Manifests that were sent along, in place of those of Git."""


def aim_at_spec(application: Object, *, recent: bool, hard: bool, fresh: bool) -> Aim:
    """`recent`: compare with the last compared revision, whatever Git has now."""
    spec = fields(application.get("spec"))
    status = fields(fields(application.get("status")).get("sync"))
    several = has_multiple_sources(spec)
    if several:
        sources = tuple(fields(source) for source in items(spec.get("sources")))
        known = tuple(text(revision) for revision in items(status.get("revisions")))
        revisions = known if recent else tuple(text(source.get("targetRevision")) for source in sources)
    else:
        sources = (source_of(spec),)
        revisions = (text(status.get("revision")) if recent else text(sources[0].get("targetRevision")),)
    return Aim(sources=sources, revisions=revisions, several=several, hard=hard, fresh=fresh)


def compared(
    application: Object,
    app: Application,
    aim: Aim,
    at: Setting,
    *,
    error_since: datetime | None,
    forced: bool,
) -> Compared:
    """`app` is the Application once more, decoded.

    Raises `NotComparedYet` where the repository fails and Argo CD waits before it says so.
    """
    manifests: Manifests | None = None
    error: str | None = None
    try:
        manifests = _manifests(application, app, aim, at)
    except NoTargets as problem:
        error = str(problem)
    inputs = Inputs(
        application=application,
        app=app,
        project=at.project,
        settings=at.settings,
        targets=aim.local or (manifests.objects if manifests is not None else ()),
        live=at.live,
        now=at.now,
        scopes=at.live.scopes,
        cluster=at.cluster,
        project_clusters=at.project_clusters,
        control_plane_namespace=at.namespace,
        revisions=manifests.revisions if manifests is not None else aim.revisions,
        target_error=error,
        dry_run=at.dry_run,
        schemas=at.live.schemas,
        memory=at.memory,
    )
    comparison = (
        compare(inputs)
        if forced
        else compare_with_grace(
            inputs, first_seen=error_since, grace_seconds=at.settings.repo_error_grace_seconds
        )
    )
    return Compared(
        comparison=comparison,
        source_types=manifests.source_types if manifests is not None else (),
        has_changes=_evaluate_revision_changes(application, aim),
    )


def _manifests(application: Object, app: Application, aim: Aim, at: Setting) -> Manifests | None:
    if aim.local:
        return None
    if at.live.destination.unreachable:
        server = at.live.destination.server
        raise NoTargets(
            f'failed to get cluster version for cluster "{server}": '
            f'failed to get cluster info for "{server}": {at.live.problem}'
        )
    wish = ManifestRequest(
        application=application,
        instance=instance_name(app.name, app.namespace, at.namespace),
        namespace=app.spec.destination.namespace,
        settings=at.settings,
        hard=aim.hard,
        fresh=aim.fresh,
    )
    return at.repo_server.manifests(wish, aim.sources, aim.revisions)


def _evaluate_revision_changes(application: Object, aim: Aim) -> bool:
    """Mirrors `evaluateRevisionChanges`, Argo CD 3.6; differs: the paths that an app watches have no say."""
    status = fields(fields(application.get("status")).get("sync"))
    known = (
        [text(revision) for revision in items(status.get("revisions"))]
        if aim.several
        else [text(status.get("revision"))]
    )
    return not (aim.revisions and all(aim.revisions) and list(aim.revisions) == known)

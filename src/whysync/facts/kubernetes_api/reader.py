"""Read a Snapshot from the Kubernetes API: Argo CD's own objects, and the apps' objects on every cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from whysync.argocd.api.application import Application
from whysync.errors import NotFound, UsageError, WhysyncError
from whysync.facts.http.errors import HttpError, gap_kind
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.progress import report_waiting
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.api import Api
from whysync.facts.kubernetes_api.clusters import Clusters, DestinationCluster
from whysync.facts.kubernetes_api.control_plane import ControlPlane, read_control_plane
from whysync.facts.kubernetes_api.desired import last_applied, local_manifests
from whysync.facts.kubernetes_api.discovery import Kinds, discover
from whysync.facts.kubernetes_api.gaps import Unread
from whysync.facts.kubernetes_api.kinds_to_read import has_problem, scope_of
from whysync.facts.kubernetes_api.listing import Query
from whysync.facts.kubernetes_api.login import Connection
from whysync.facts.kubernetes_api.logs import read_logs
from whysync.facts.kubernetes_api.read_live import Live, read_live
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.rendered import HOW_TO_RENDER, Destination, FromGit, NotRendered
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.json_tree import garbage_collection_paused, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key

_NOT_IN_CLUSTER = "the Kubernetes API does not have the manifests in Git"
Progress = Callable[[str, int], None]
# Signs that Argo CD itself has a problem: then its own Pods are read.
_ARGOCD_ERRORS = ("rpc error", "connection refused", "redis", "repo-server", "i/o timeout", "dial tcp")


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one cluster."""

    live: Live = Live()
    logs: tuple[Log, ...] = ()
    gaps: tuple[Gap, ...] = ()
    kinds: Kinds = Kinds(())
    kube_version: str = ""


def read_kubernetes(
    access: KubeAccess,
    selection: Selection,
    progress: Progress | None = None,
    *,
    everything: bool = False,
    masker: Masker | None = None,
) -> Snapshot:
    """Everything that the account may read, without secrets.

    Apps that are named are read in detail. Otherwise details of Synced and Healthy apps are skipped, unless
    `everything` is set.
    """
    with garbage_collection_paused():
        snapshot = asyncio.run(_read(access, selection, progress, everything=everything))
        return mask_snapshot(snapshot, masker)


async def _read(
    access: KubeAccess, selection: Selection, progress: Progress | None, *, everything: bool
) -> Snapshot:
    if selection.refresh:
        raise UsageError(
            what="a refresh cannot be requested from Kubernetes itself",
            why="it is an annotation on the Application, and with a kubeconfig whysync only reads",
            next="use Argo CD with --server, or run kubectl annotate application NAME"
            " argocd.argoproj.io/refresh=normal",
        )
    hub = access.hub()
    async with _open(hub, access.limits, progress) as api:
        control = await read_control_plane(
            api, selection, namespace=access.namespace, context_namespace=hub.namespace
        )
        if selection.names and not control.applications:
            raise _not_found(selection, control.not_shown)
        if selection.sets and not any(m.ref.kind == "ApplicationSet" for m in control.live):
            raise _no_set(selection)
        apps = list(_decoded(control.applications))
        all_in_detail = everything or selection.all_in_detail
        detailed = [
            pair for pair in apps if not selection.listing and (all_in_detail or has_problem(pair[1]))
        ]
        destinations = _by_destination(Clusters(access, hub, control.settings), [app for _, app in detailed])
        several_clusters = len(destinations) > 1
        cluster_facts = await asyncio.gather(
            *(
                _read_cluster(
                    api,
                    destination,
                    members,
                    control,
                    access,
                    selection,
                    several_clusters=several_clusters,
                    progress=progress,
                )
                for destination, members in destinations
            )
        )
        own_events = await _application_events(api, detailed, selection)
        gaps = [gap for facts in cluster_facts for gap in facts.gaps]
        desired = _desired(
            api,
            control,
            detailed,
            {
                app.qualified_name: facts
                for (_, members), facts in zip(destinations, cluster_facts, strict=True)
                for app in members
            },
            selection,
            access,
            everything=everything,
            progress=progress,
        )
        has_problems = any(has_problem(app) for _, app in apps)
        _report_unread_secrets(api, control, [app for _, app in detailed])
        now = api.client.now() or datetime.now(UTC)
        # The gaps of the hub: of the control plane and of the apps on it.
        hub_gaps = api.gaps.all(None if has_problems else frozenset((control.namespace,)))
    return Snapshot(
        collected_at=now.replace(microsecond=0),
        argocd_version=control.version,
        applications=control.applications,
        projects=control.projects,
        settings=control.settings,
        desired=desired.desired,
        live=(*control.live, *(obj for facts in cluster_facts for obj in facts.live.objects)),
        events=(*own_events, *(event for facts in cluster_facts for event in facts.live.events)),
        logs=tuple(log for facts in cluster_facts for log in facts.logs),
        heads=desired.heads,
        gaps=tuple(dict.fromkeys([*control.not_shown.values(), *gaps, *desired.gaps, *hub_gaps])),
        not_shown=control.not_shown,
        renderings=desired.renderings,
    )


@asynccontextmanager
async def _open(
    connection: Connection, limits: HttpLimits, progress: Progress | None, *, cluster: str = ""
) -> AsyncGenerator[Api]:
    async with report_waiting(progress, connection.name):
        client = await connection.client(limits)
    async with client:
        async with report_waiting(progress, connection.name):
            kinds = await discover(client)
        yield Api(client, kinds, cluster=cluster, progress=progress)


def _decoded(applications: Iterable[Manifest]) -> Iterable[tuple[Manifest, Application]]:
    for manifest in applications:
        app, _ = decode(manifest.body, Application)
        if app is not None:
            yield manifest, app


def _by_destination(
    clusters: Clusters, apps: Iterable[Application]
) -> list[tuple[DestinationCluster, list[Application]]]:
    by_destination: dict[str, tuple[DestinationCluster, list[Application]]] = {}
    for app in apps:
        destination = clusters.destination_cluster(app.spec.destination)
        by_destination.setdefault(destination.name, (destination, []))[1].append(app)
    return [by_destination[name] for name in sorted(by_destination)]


async def _read_cluster(
    hub: Api,
    destination: DestinationCluster,
    apps: list[Application],
    control: ControlPlane,
    access: KubeAccess,
    selection: Selection,
    *,
    several_clusters: bool,
    progress: Progress | None,
) -> ClusterFacts:
    """Read one cluster. If it is unreachable, that is a gap; other clusters are not affected."""
    if destination.gap is not None:
        return ClusterFacts(gaps=(destination.gap,))
    name = destination.name if several_clusters else ""
    if destination.is_hub:
        hub_api = Api(hub.client, hub.kinds, cluster=name, progress=progress)
        return await _read_facts(hub_api, apps, control, selection, is_hub=True)
    assert destination.connection is not None
    try:
        async with _open(destination.connection, access.limits, progress, cluster=name) as api:
            return await _read_facts(api, apps, control, selection, is_hub=False)
    except WhysyncError as problem:
        return ClusterFacts(
            gaps=(
                Gap(
                    kind=gap_kind(problem),
                    what=f"live objects on cluster {destination.name}",
                    why=f"{problem.what}: {problem.why}" if problem.why else problem.what,
                    how_to_get=problem.next,
                ),
            )
        )


async def _read_facts(
    api: Api, apps: list[Application], control: ControlPlane, selection: Selection, *, is_hub: bool
) -> ClusterFacts:
    scope = scope_of(apps)
    argocd_has_problem = is_hub and any(marker in scope.error_text for marker in _ARGOCD_ERRORS)
    extra = frozenset((control.namespace,)) if argocd_has_problem else frozenset[str]()
    live = await read_live(api, scope, extra_namespaces=extra)
    logs: list[Log] = []
    if selection.logs:
        logs = await read_logs(api, live.objects, scope.failing | extra, lines=selection.log_lines)
    namespaces = None if selection.every_gap else scope.namespaces_with_problems
    return ClusterFacts(
        live=live,
        logs=tuple(logs),
        gaps=tuple(api.gaps.all(namespaces)),
        kinds=api.kinds,
        kube_version=await _kube_version(api) if selection.wants_git else "",
    )


async def _kube_version(api: Api) -> str:
    """Helm renders for it. Every account may read it, unless an administrator removed that right."""
    with suppress(HttpError):
        return text((await api.client.object("/version")).get("gitVersion"))
    return ""


async def _application_events(
    api: Api, apps: list[tuple[Manifest, Application]], selection: Selection
) -> list[Manifest]:
    """Events of Argo CD's controller about the Applications."""
    kind = api.kinds.find("", "Event")
    if kind is None or not apps:
        return []
    about = "involvedObject.kind=Application"
    if len(apps) == 1 and selection.is_narrow:
        about += f",involvedObject.name={apps[0][1].name}"
    names = {(app.namespace, app.name) for _, app in apps}
    namespaces = sorted({app.namespace for _, app in apps})
    lists = await asyncio.gather(
        *(
            api.read(Query(kind=kind, namespace=namespace, matching=about), Role.EVENT, quietly=True)
            for namespace in namespaces
        )
    )
    return [event for events in lists for event in events if _involved(event) in names]


def _involved(event: Manifest) -> tuple[object, object]:
    involved = event.body.get("involvedObject")
    return (involved.get("namespace"), involved.get("name")) if isinstance(involved, dict) else ("", "")


def _desired(
    api: Api,
    control: ControlPlane,
    apps: list[tuple[Manifest, Application]],
    cluster_facts: dict[str, ClusterFacts],
    selection: Selection,
    access: KubeAccess,
    *,
    everything: bool,
    progress: Progress | None,
) -> FromGit:
    """Rendered from Git where that is possible, otherwise the manifests of the last sync."""
    if not selection.wants_git:
        return _complete(FromGit(), apps, cluster_facts)
    from whysync.facts.from_git import is_checkout_of, read_from_git

    plain: dict[str, tuple[Manifest, ...]] = {}
    plain_gaps: list[Gap] = []
    if selection.local and not is_checkout_of(selection.local, (app for _, app in apps)):
        plain, plain_gaps = local_manifests(
            selection.local, apps, control.settings, api.kinds, control.namespace
        )
        selection = replace(selection, local="")
    from_git = read_from_git(
        [(manifest, app) for manifest, app in apps if app.qualified_name not in plain],
        selection,
        settings=control.settings,
        argocd_namespace=control.namespace,
        cluster_of=lambda app: _destination_of(cluster_facts[app.qualified_name]),
        deadline=access.limits.deadline,
        heads_of=apps,
        everything=everything,
        progress=progress,
    )
    if plain:  # the user named the manifests: nothing else is missing
        gaps = (*plain_gaps, *from_git.gaps)
        return replace(from_git, desired={**from_git.desired, **plain}, gaps=gaps)
    return _complete(replace(from_git, gaps=(*plain_gaps, *from_git.gaps)), apps, cluster_facts)


def _complete(
    from_git: FromGit, apps: list[tuple[Manifest, Application]], cluster_facts: dict[str, ClusterFacts]
) -> FromGit:
    """With the manifests of the last sync of the other Applications, and a gap for those."""
    missing = [app for _, app in apps if app.qualified_name not in from_git.desired]
    live: dict[Key, Manifest] = {}
    for facts in {id(facts): facts for facts in cluster_facts.values()}.values():
        for obj in facts.live.objects:
            live.setdefault(obj.key, obj)
    applied = last_applied(missing, live)
    out_of_sync = [app for app in missing if app.status.sync.status == "OutOfSync"]
    gaps = _not_rendered(out_of_sync, from_git.unrendered, applied, {gap.what for gap in from_git.gaps})
    return replace(from_git, desired={**applied, **from_git.desired}, gaps=(*from_git.gaps, *gaps))


def _destination_of(facts: ClusterFacts) -> Destination:
    return Destination(kinds=facts.kinds, kube_version=facts.kube_version)


def _not_rendered(
    apps: list[Application],
    why: Mapping[str, NotRendered],
    applied: Mapping[str, tuple[Manifest, ...]],
    told: Collection[str],
) -> Iterator[Gap]:
    """One gap for all Applications that lack manifests for the same reason."""
    by_reason: dict[tuple[str, str], list[Application]] = {}
    for app in apps:
        problem = why.get(app.qualified_name)
        reason = (
            (problem.why, problem.how_to_get) if problem is not None else (_NOT_IN_CLUSTER, HOW_TO_RENDER)
        )
        by_reason.setdefault(reason, []).append(app)
    for (reason, how_to_get), members in by_reason.items():
        names = [app.qualified_name for app in members]
        names_text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        if f"rendered manifests of {names_text}" in told:
            continue
        if any(name in applied for name in names):
            reason += "; manifests of the last sync are used where they are known"
        yield Gap(
            kind=GapKind.NOT_RENDERED,
            what=f"rendered manifests of {names_text}",
            why=reason,
            how_to_get=how_to_get,
        )


def _report_unread_secrets(api: Api, control: ControlPlane, apps: list[Application]) -> None:
    """Missing repository and cluster secrets are only a gap if Argo CD could not compare."""
    kind = api.kinds.find("", "Secret")
    problem = control.secrets_error
    cannot_compare = any(app.status.sync.status == "Unknown" and app.status.conditions for app in apps)
    if kind is not None and problem is not None and cannot_compare:
        api.gaps.add_unread(Unread(kind=kind, namespace=control.namespace, problem=problem))


def _no_set(selection: Selection) -> NotFound:
    return NotFound(
        what=f"there is no ApplicationSet {', '.join(selection.sets)}",
        why="no namespace that this account can read has an ApplicationSet with that name",
        next="kubectl get applicationsets.argoproj.io -A lists them; an Application in a namespace of that"
        " name is found with -N",
    )


def _not_found(selection: Selection, not_shown: Mapping[str, Gap]) -> NotFound:
    names = ", ".join(selection.names)
    if not_shown:
        gap = next(iter(not_shown.values()))
        return NotFound(
            what=f"this account can read none of the Applications {names}",
            why=gap.why,
            next=gap.how_to_get,
        )
    return NotFound(
        what=f"there is no Application {names}",
        why="no namespace that this account can read has an Application with that name",
        next="whysync list shows all of them; --argocd-namespace sets the namespace of Argo CD",
    )

"""Read a Snapshot from the Kubernetes API: Argo CD's own objects, and the apps' objects on every cluster."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import msgspec

from whysync.argocd.api.application import Application
from whysync.errors import NotFound, UsageError, WhysyncError
from whysync.facts.http.errors import gap_kind
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.progress import report_waiting
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.api import Api
from whysync.facts.kubernetes_api.clusters import Clusters, Target
from whysync.facts.kubernetes_api.control_plane import ControlPlane, read_control_plane
from whysync.facts.kubernetes_api.desired import last_applied, local_manifests
from whysync.facts.kubernetes_api.discovery import discover
from whysync.facts.kubernetes_api.gaps import Unread
from whysync.facts.kubernetes_api.listing import Query
from whysync.facts.kubernetes_api.live import Live, read_live
from whysync.facts.kubernetes_api.login import Connection
from whysync.facts.kubernetes_api.logs import read_logs
from whysync.facts.kubernetes_api.scope import is_troubled, scope_of
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key

Progress = Callable[[str, int], None]
# Signs that Argo CD itself has a problem: then its own Pods are read.
_OWN_TROUBLE = ("rpc error", "connection refused", "redis", "repo-server", "i/o timeout", "dial tcp")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one cluster."""

    live: Live = Live()
    logs: tuple[Log, ...] = ()
    gaps: tuple[Gap, ...] = ()


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
    was_on = gc.isenabled()
    gc.disable()  # many new objects without cycles
    try:
        snapshot = asyncio.run(_read(access, selection, progress, everything=everything))
        return mask_snapshot(snapshot, masker)
    finally:
        if was_on:
            gc.enable()


async def _read(
    access: KubeAccess, selection: Selection, progress: Progress | None, *, everything: bool
) -> Snapshot:
    if selection.refresh:
        raise UsageError(
            what="a refresh cannot be asked of Kubernetes itself",
            why="it is written onto the Application, and with a kubeconfig whysync only reads",
            next="ask Argo CD with --server, or kubectl annotate application NAME"
            " argocd.argoproj.io/refresh=normal",
        )
    hub = access.hub()
    async with _open(hub, access.limits, progress) as api:
        control = await read_control_plane(api, selection, namespace=access.namespace, usual=hub.namespace)
        if selection.names and not control.applications:
            raise _no_such(selection)
        apps = list(_decoded(control.applications))
        each = everything or selection.is_narrow
        closely = [pair for pair in apps if not selection.listing and (each or is_troubled(pair[1]))]
        targets = _by_target(Clusters(access, hub, control.settings), [app for _, app in closely])
        several = len(targets) > 1
        parts = await asyncio.gather(
            *(
                _part(api, target, members, control, access, selection, several=several, progress=progress)
                for target, members in targets
            )
        )
        own = await _own_events(api, closely, selection)
        gaps = [gap for part in parts for gap in part.gaps]
        desired, more = _desired(api, control, closely, parts, selection)
        troubled = any(is_troubled(app) for _, app in apps)
        _without_secrets(api, control, [app for _, app in closely])
        now = api.client.now() or datetime.now(UTC)
        # The gaps of the hub: of the control plane and of the apps on it.
        hub_gaps = api.gaps.all(None if troubled else frozenset((control.namespace,)))
    return Snapshot(
        collected_at=now.replace(microsecond=0),
        argocd_version=control.version,
        applications=control.applications,
        projects=control.projects,
        settings=control.settings,
        desired=desired,
        live=(*control.live, *(obj for part in parts for obj in part.live.objects)),
        events=(*own, *(event for part in parts for event in part.live.events)),
        logs=tuple(log for part in parts for log in part.logs),
        gaps=tuple(dict.fromkeys([*gaps, *more, *hub_gaps])),
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


def _by_target(clusters: Clusters, apps: Iterable[Application]) -> list[tuple[Target, list[Application]]]:
    by_target: dict[str, tuple[Target, list[Application]]] = {}
    for app in apps:
        target = clusters.target(app.spec.destination)
        by_target.setdefault(target.name, (target, []))[1].append(app)
    return [by_target[name] for name in sorted(by_target)]


async def _part(
    hub: Api,
    target: Target,
    apps: list[Application],
    control: ControlPlane,
    access: KubeAccess,
    selection: Selection,
    *,
    several: bool,
    progress: Progress | None,
) -> Part:
    """Read one cluster. If it is unreachable, that is a gap; other clusters are not affected."""
    if target.gap is not None:
        return Part(gaps=(target.gap,))
    name = target.name if several else ""
    if target.is_hub:
        own = Api(hub.client, hub.kinds, cluster=name, progress=progress)
        return await _facts(own, apps, control, selection, is_hub=True)
    assert target.connection is not None
    try:
        async with _open(target.connection, access.limits, progress, cluster=name) as api:
            return await _facts(api, apps, control, selection, is_hub=False)
    except WhysyncError as problem:
        return Part(
            gaps=(
                Gap(
                    kind=gap_kind(problem),
                    what=f"live objects on cluster {target.name}",
                    why=f"{problem.what}: {problem.why}" if problem.why else problem.what,
                    how_to_get=problem.next,
                ),
            )
        )


async def _facts(
    api: Api, apps: list[Application], control: ControlPlane, selection: Selection, *, is_hub: bool
) -> Part:
    scope = scope_of(apps)
    in_trouble = is_hub and any(sign in scope.words for sign in _OWN_TROUBLE)
    extra = frozenset((control.namespace,)) if in_trouble else frozenset[str]()
    live = await read_live(api, scope, extra_namespaces=extra)
    logs: list[Log] = []
    if selection.logs:
        logs = await read_logs(api, live.objects, scope.failing | extra, lines=selection.log_lines)
    where = None if selection.every_gap else scope.troubled
    return Part(live=live, logs=tuple(logs), gaps=tuple(api.gaps.all(where)))


async def _own_events(
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
    places = sorted({app.namespace for _, app in apps})
    several = await asyncio.gather(
        *(
            api.read(Query(kind=kind, namespace=place, matching=about), Role.EVENT, quietly=True)
            for place in places
        )
    )
    return [event for ones in several for event in ones if _about(event) in names]


def _about(event: Manifest) -> tuple[object, object]:
    involved = event.body.get("involvedObject")
    return (involved.get("namespace"), involved.get("name")) if isinstance(involved, dict) else ("", "")


def _desired(
    api: Api,
    control: ControlPlane,
    apps: list[tuple[Manifest, Application]],
    parts: Iterable[Part],
    selection: Selection,
) -> tuple[dict[str, tuple[Manifest, ...]], list[Gap]]:
    if selection.local:
        return local_manifests(selection.local, apps, control.settings, api.kinds, control.namespace)
    live: dict[Key, Manifest] = {}
    for part in parts:
        for obj in part.live.objects:
            live.setdefault(obj.key, obj)
    applied = last_applied((app for _, app in apps), live)
    without = [app for _, app in apps if app.status.sync.status == "OutOfSync"]
    return applied, [_not_rendered(without, applied)] if without else []


def _not_rendered(apps: list[Application], applied: dict[str, tuple[Manifest, ...]]) -> Gap:
    names = [app.qualified_name for app in apps]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    why = "Kubernetes does not know what Git says"
    if applied:
        why += "; where it could be told, the objects of the last sync stand for it"
    return Gap(
        kind=GapKind.NOT_RENDERED,
        what=f"what Git wants now of {shown}",
        why=why,
        how_to_get="ask Argo CD with --server, or give the rendered YAML with --local DIR",
    )


def _without_secrets(api: Api, control: ControlPlane, apps: list[Application]) -> None:
    """Missing repository and cluster secrets are only a gap if Argo CD could not compare."""
    kind = api.kinds.find("", "Secret")
    problem = control.without_secrets
    stuck = any(app.status.sync.status == "Unknown" and app.status.conditions for app in apps)
    if kind is not None and problem is not None and stuck:
        api.gaps.unread(Unread(kind=kind, namespace=control.namespace, problem=problem))


def _no_such(selection: Selection) -> NotFound:
    names = ", ".join(selection.names)
    return NotFound(
        what=f"there is no Application {names}",
        why="Kubernetes knows none of that name where this account may look",
        next="whysync list shows all of them; --argocd-namespace names where Argo CD is",
    )

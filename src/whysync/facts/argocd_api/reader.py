"""Read a Snapshot from Argo CD's API: the selected Applications and everything they depend on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

from msgspec.structs import replace

from whysync.errors import NotFound
from whysync.facts.argocd_api.api import Api, client_for
from whysync.facts.argocd_api.detail import Detail, Reader
from whysync.facts.argocd_api.gaps import Gaps
from whysync.facts.argocd_api.port_forward import forwarded
from whysync.facts.argocd_api.responses import AppId, id_of, listed, typed
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.argocd_api.settings import cluster_secrets, config_map, with_global_projects
from whysync.facts.http.errors import CONNECTION_ERRORS, Forbidden, HttpError, Missing, Rejected
from whysync.facts.http.progress import report_waiting
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Extra, Gap, GapKind, Snapshot
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role, owner_of_kind

_HOW_TO_SEE: Final = (
    "argocd app list shows what the account may see; it needs `applications, get, PROJECT/NAME`"
)
Progress = Callable[[str, int], None]


def read_argocd(
    server: ArgoServer,
    selection: Selection,
    progress: Progress | None = None,
    *,
    everything: bool = False,
    masker: Masker | None = None,
) -> Snapshot:
    """Everything that the account may read, without secrets.

    Apps that are named are read in detail, unless `problems_only` is set. Otherwise details of Synced and
    Healthy apps are skipped, unless `everything` is set.
    """
    with connection(server) as address:
        snapshot = asyncio.run(_read(address, selection, progress, everything=everything))
    return mask_snapshot(snapshot, masker)


@contextmanager
def connection(server: ArgoServer) -> Generator[ArgoServer]:
    """The server itself, or a forwarded port.

    As in argocd: the certificate is not valid for the local address, and kubectl secures the connection.
    """
    if server.forward is None or server.address:
        yield server
        return
    with forwarded(server.forward, server.limits.deadline) as address:
        yield replace(server, address=address, tls=replace(server.tls, insecure=True))


async def _read(
    server: ArgoServer, selection: Selection, progress: Progress | None, *, everything: bool
) -> Snapshot:
    gaps = Gaps()
    async with client_for(server) as client:
        api = Api(client)
        async with report_waiting(progress, client.name):
            apps, not_shown = await applications(api, selection)
            sets = await _application_sets(api, selection)
            if selection.sets:
                apps = _generated(apps, sets)
            elif selection.is_narrow:
                sets = await _owners(api, apps)
        shared = await _shared_facts(api, apps, gaps)
        reader = Reader(
            api,
            selection,
            gaps,
            closely=everything or selection.is_narrow,
            home=shared.home,
            cluster_of=shared.cluster_of if len(shared.destinations(apps)) > 1 else _single_cluster,
        )

        def is_detailed(app: Object) -> bool:
            wanted = everything or selection.all_in_detail or _has_problem(app)
            return wanted and not selection.listing

        async def detailed(app: Object) -> Detail:
            if not is_detailed(app):
                return Detail(application=app)
            read = await reader.read(app)
            if progress is not None:
                progress(id_of(app).place, client.count.bytes)
            return read

        details = await asyncio.gather(*map(detailed, apps))
        await shared.read_inheritance(api, (app for app in apps if is_detailed(app)), gaps)
        now = client.now() or datetime.now(UTC)
    snapshot = shared.snapshot(details, gaps, now)
    snapshot = replace(
        snapshot,
        live=(*_once(sets), *snapshot.live),
        gaps=(*not_shown.values(), *snapshot.gaps),
        not_shown=not_shown,
    )
    if not (selection.local or selection.git or selection.checkout):
        return snapshot
    return _with_git(snapshot, selection, server, shared.home)


def _with_git(snapshot: Snapshot, selection: Selection, server: ArgoServer, home: str) -> Snapshot:
    """With `--local`, manifests from there instead of Argo CD's; with `--git`, the commits of branches.

    In a checkout of a source, the manifests of named Applications are rendered too, for their lines in Git.
    """
    from whysync.argocd.api.application import Application
    from whysync.facts.from_git import is_checkout_of, read_from_git
    from whysync.facts.kubernetes_api.desired import local_manifests
    from whysync.facts.kubernetes_api.discovery import Kinds
    from whysync.facts.rendered import Destination, FromGit
    from whysync.kubernetes.api.decode import decode

    decoded = (
        (application, decode(application.body, Application)[0]) for application in snapshot.applications
    )
    apps = [(manifest, app) for manifest, app in decoded if app is not None]
    # Without the cluster's kinds, namespaces are not filled in: the objects stay as written.
    kinds = Kinds(())
    folder = selection.local
    if folder and not is_checkout_of(folder, (app for _, app in apps)):
        local, gaps = local_manifests(folder, apps, snapshot.settings, kinds, home or "argocd")
        snapshot = replace(snapshot, desired={**snapshot.desired, **local}, gaps=(*snapshot.gaps, *gaps))
        folder = ""
    renders = bool(folder or selection.all_in_detail)
    from_git = FromGit()
    if renders or selection.git:
        from_git = read_from_git(
            apps if renders else (),
            replace(selection, local=folder),
            settings=snapshot.settings,
            argocd_namespace=home or "argocd",
            cluster_of=lambda _: Destination(kinds=kinds),
            deadline=server.limits.deadline,
            heads_of=apps,
        )
    desired = {**from_git.desired, **snapshot.desired}
    if folder:
        desired |= from_git.desired
    used = from_git.desired.keys() if folder else from_git.desired.keys() - snapshot.desired.keys()
    return replace(
        snapshot,
        desired=desired,
        heads=from_git.heads,
        gaps=(*snapshot.gaps, *(from_git.gaps if selection.git or folder else ())),
        renderings=tuple(
            replace(rendering, is_desired=rendering.app in used) for rendering in from_git.renderings
        ),
    )


# --- select Applications -------------------------------------------------------------------------------


async def applications(api: Api, selection: Selection) -> tuple[list[Object], dict[str, Gap]]:
    """The selected Applications, each once, refreshed first if requested; and a gap for each name that
    Argo CD does not show. Raises `NotFound` if it shows none of them.
    """
    not_shown: dict[str, Gap] = {}

    async def by_name(name: str) -> list[Object]:
        try:
            return await _named(api, name, selection)
        except NotFound as problem:
            if len(selection.names) == 1:
                raise
            not_shown[name] = Gap(
                kind=GapKind.FORBIDDEN,
                what=f"Application {name}",
                why=problem.why,
                how_to_get=problem.next,
            )
            return []

    if selection.is_narrow:
        named = await asyncio.gather(*map(by_name, selection.names))
        bodies = [app for apps in named for app in apps]
        if not_shown and not bodies:
            raise NotFound(
                what=f"Argo CD shows none of the Applications {', '.join(selection.names)} to this account",
                why=next(iter(not_shown.values())).why,
                next=_HOW_TO_SEE,
            )
        for name in selection.also:
            with suppress(NotFound, Rejected):
                bodies += await _named(api, name, selection)
    else:
        spaces = selection.app_namespaces if not selection.all_namespaces else ()
        responses = await asyncio.gather(
            *(api.applications(selection, namespace=space) for space in spaces or ("",))
        )
        bodies = [app for response in responses for app in listed(response, "Application")]
    unique = {id_of(app).place: app for app in bodies}
    if selection.refresh:
        refreshed = await asyncio.gather(*(_refreshed(api, app, selection) for app in unique.values()))
        unique = {id_of(app).place: app for app in refreshed}
    return list(unique.values()), not_shown


async def _application_sets(api: Api, selection: Selection) -> list[Manifest]:
    """The named ApplicationSets. Raises `NotFound`."""
    sets: list[Manifest] = []
    for name in selection.sets:
        namespace, _, bare = name.rpartition("/")
        spaces = (namespace,) if namespace else selection.app_namespaces or ("",)
        denied: Forbidden | Missing | Rejected | None = None
        for space in spaces:
            try:
                body = typed(await api.application_set(bare, namespace=space), "ApplicationSet")
            except (Forbidden, Missing, Rejected) as problem:
                denied = problem
            else:
                sets.append(Manifest(body, role=Role.LIVE, origin="Argo CD: applicationsets"))
        if denied is not None and not sets:
            raise NotFound(
                what=f"Argo CD does not show an ApplicationSet {name!r} to this account",
                why=f"it says {denied.server_message or denied.what!r}",
                next="argocd appset list shows what the account may see; it needs"
                " `applicationsets, get, PROJECT/NAME`",
            ) from denied
    return sets


async def _owners(api: Api, apps: list[Object]) -> list[Manifest]:
    """The ApplicationSets that own these Applications; no gap if the account may not read them."""
    owners = {
        (id_of(app).namespace, owner)
        for app in apps
        if (owner := owner_of_kind(Manifest(app, role=Role.APPLICATION), "ApplicationSet"))
    }
    spare = Gaps()
    bodies = [
        await spare.unless(partial(api.application_set, name, namespace=namespace), "", "", "")
        for namespace, name in sorted(owners)
    ]
    return [
        Manifest(typed(body, "ApplicationSet"), role=Role.LIVE, origin="Argo CD: applicationsets")
        for body in bodies
        if body
    ]


def _generated(apps: list[Object], sets: list[Manifest]) -> list[Object]:
    """The Applications that these sets own."""
    owners = {(manifest.ref.namespace, manifest.ref.name) for manifest in sets}
    return [
        app
        for app in apps
        for owner in (owner_of_kind(Manifest(app, role=Role.APPLICATION), "ApplicationSet"),)
        if owner and (id_of(app).namespace, owner) in owners
    ]


async def _refreshed(api: Api, app: Object, selection: Selection) -> Object:
    return typed(await api.application(id_of(app), refresh=selection.refresh), "Application")


async def _named(api: Api, name: str, selection: Selection) -> list[Object]:
    """An Application by name: in the given namespace, in Argo CD's own, or in any other."""
    space, _, bare = name.rpartition("/")
    spaces = (space,) if space else selection.app_namespaces or ("",)
    denied: HttpError | None = None
    bodies: list[Object] = []
    for namespace in spaces:
        try:
            response = await api.application(AppId(namespace=namespace, name=bare))
            bodies.append(typed(response, "Application"))
        except CONNECTION_ERRORS:
            raise
        except HttpError as problem:
            denied = problem
    if not bodies and (not space or not isinstance(denied, Forbidden | Missing)):
        # Lists include what a request for one Application does not return: those in other namespaces, those
        # whose project does not exist or does not permit them (HTTP 400), and those that it fails for.
        response = await api.applications(Selection(), namespace=space, name=bare)
        bodies = listed(response, "Application")
    if bodies or denied is None:
        return bodies
    if not isinstance(denied, Forbidden | Missing | Rejected):
        raise denied
    raise NotFound(
        what=f"Argo CD does not show an Application {name!r} to this account",
        why=f"Argo CD says {denied.server_message or denied.what!r}, "
        "of what is not there and of what is not allowed alike",
        next=_HOW_TO_SEE,
    ) from denied


def _has_problem(app: Object) -> bool:
    """Is the app anything but Synced and Healthy?"""
    status = fields(app.get("status"))
    phase = text(dig(status, "operationState", "phase"))
    return (
        text(dig(status, "sync", "status")) != "Synced"
        or text(dig(status, "health", "status")) != "Healthy"
        or bool(items(status.get("conditions")))
        or phase not in ("", "Succeeded")
        or bool(app.get("operation"))
    )


def _single_cluster(_: Object) -> str:
    return ""


# --- shared facts --------------------------------------------------------------------------------------


class _SharedFacts:
    """What all Applications share: settings, projects, clusters, repositories."""

    def __init__(self, *, version: Object, settings: Object, projects: list[Object]) -> None:
        self.version = text(version.get("Version"))
        self.home = text(settings.get("controllerNamespace"))
        self.settings: list[Object] = [config_map(settings, self.home or "argocd")] if settings else []
        self.projects = projects
        self.facts: dict[str, Object] = {}
        self.clusters: dict[str, str] = {}

    async def read_inheritance(self, api: Api, apps: Iterable[Object], gaps: Gaps) -> None:
        """Which global projects the projects of these Applications inherit from: what they permit counts."""
        listed_projects = {text(dig(project, "metadata", "name")) for project in self.projects}
        names = {id_of(app).project or "default" for app in apps} & listed_projects
        if not self.settings or len(listed_projects) < 2:
            return  # there is no other project that lists could be inherited from
        inherited: dict[str, list[str]] = {}
        for name in sorted(names):
            what = f"the global projects of AppProject {name}"
            how = "kubectl -n argocd get configmap argocd-cm"
            response = await gaps.unless(partial(api.global_projects, name), what, "", how)
            inherited[name] = [
                text(dig(parent, "metadata", "name")) for parent in items((response or {}).get("items"))
            ]
        self.settings[0] = with_global_projects(self.settings[0], self.projects, inherited)

    def cluster_of(self, app: Object) -> str:
        """The cluster of an Application by its name in Argo CD, also if the Application has its address."""
        destination = dig(app, "spec", "destination")
        server = text(dig(destination, "server"))
        return text(dig(destination, "name")) or self.clusters.get(server) or server

    def destinations(self, apps: Iterable[Object]) -> set[str]:
        return {self.cluster_of(app) for app in apps}

    def snapshot(self, details: Iterable[Detail], gaps: Gaps, now: datetime) -> Snapshot:
        details = list(details)
        return Snapshot(
            collected_at=now.replace(microsecond=0),
            argocd_version=self.version.partition("+")[0],
            applications=tuple(
                Manifest(detail.application, role=Role.APPLICATION, origin="Argo CD: applications")
                for detail in details
            ),
            projects=tuple(
                Manifest(project, role=Role.PROJECT, origin="Argo CD: projects") for project in self.projects
            ),
            settings=tuple(
                Manifest(setting, role=Role.SETTINGS, origin="Argo CD: settings") for setting in self.settings
            ),
            desired={id_of(detail.application).place: detail.desired for detail in details if detail.desired},
            live=_once(body for detail in details for body in detail.live),
            events=_once(body for detail in details for body in detail.events),
            logs=tuple(dict.fromkeys(log for detail in details for log in detail.logs)),
            facts=(
                *(Extra(name=name, body=body, origin="Argo CD") for name, body in self.facts.items() if body),
                *(fact for detail in details for fact in detail.facts),
            ),
            gaps=gaps.all(),
        )


async def _shared_facts(api: Api, apps: list[Object], gaps: Gaps) -> _SharedFacts:
    spare = Gaps()  # optional, not needed for a diagnosis
    settings, projects, version, clusters, repositories, account = await asyncio.gather(
        gaps.unless(api.settings, "Argo CD's settings", "", "kubectl -n argocd get configmap argocd-cm"),
        gaps.unless(api.projects, "AppProjects", "", "kubectl -n argocd get appprojects -o yaml"),
        spare.unless(api.version, "", "", ""),
        gaps.unless(api.clusters, "the clusters of Argo CD", "", "argocd cluster list -o yaml"),
        gaps.unless(api.repositories, "the repositories of Argo CD", "", "argocd repo list -o yaml"),
        spare.unless(api.whoami, "", "", ""),
    )
    project_objects = listed(projects or {}, "AppProject")
    shared = _SharedFacts(version=version or {}, settings=settings or {}, projects=project_objects)
    shared.settings += cluster_secrets(clusters or {}, shared.home or "argocd")
    shared.clusters = {
        text(dig(item, "server")): text(dig(item, "name")) for item in items((clusters or {}).get("items"))
    }
    shared.facts = {
        "settings": settings or {},
        "clusters": clusters or {},
        "repositories": repositories or {},
        "account": account or {},
    }
    if projects is not None:
        _missing_projects(apps, project_objects, gaps)
    return shared


def _missing_projects(apps: list[Object], projects: list[Object], gaps: Gaps) -> None:
    """Gaps for projects that are not in the list: it omits those that the account may not read."""
    names = {text(dig(project, "metadata", "name")) for project in projects}
    for app in apps:
        project = id_of(app).project or "default"
        if project not in names:
            gaps.add(
                GapKind.FORBIDDEN,
                f"AppProject {project}",
                "",
                "Argo CD does not show it to this account, or it does not exist",
                f"ask for `projects, get, {project}`",
            )


def _once(manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Each object once, also if two Applications have it in their trees."""
    by_identity = {
        (manifest.cluster, manifest.ref.group, manifest.key, manifest.uid): manifest for manifest in manifests
    }
    return tuple(by_identity.values())

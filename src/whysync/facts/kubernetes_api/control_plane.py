"""Argo CD's own objects: Applications, AppProjects, ApplicationSets, settings."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

import msgspec

from whysync.errors import NotFound
from whysync.facts.http.errors import Forbidden, HttpError, Missing
from whysync.facts.kubernetes_api.api import Api
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.facts.kubernetes_api.gaps import Unread
from whysync.facts.kubernetes_api.listing import Query, named
from whysync.facts.selection import Selection
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key

ARGO = "argoproj.io"
USUAL_NAMESPACE = "argocd"
_PART_OF = "app.kubernetes.io/part-of=argocd"
_SECRET_TYPE = "argocd.argoproj.io/secret-type"
_SETTINGS = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
_TAG = re.compile(r":v?(\d+\.\d+\.\d+[\w.-]*)(?:@|$)")


class ControlPlane(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    applications: tuple[Manifest, ...]
    projects: tuple[Manifest, ...] = ()
    # ApplicationSets, and the Applications that are resources of others
    live: tuple[Manifest, ...] = ()
    settings: tuple[Manifest, ...] = ()
    version: str = ""
    # why the repository and cluster secrets could not be read
    without_secrets: HttpError | None = None


async def read_control_plane(api: Api, selection: Selection, *, namespace: str, usual: str) -> ControlPlane:
    """`namespace` is the one given for Argo CD; `usual` is that of the context."""
    kind = api.kinds.find(ARGO, "Application")
    if kind is None:
        raise NotFound(
            what=f"{api.client.name} has no Argo CD",
            why="it has no kind Application of argoproj.io",
            next="choose the cluster that Argo CD runs in with --context, or ask Argo CD with --server",
        )
    places = tuple(dict.fromkeys(place for place in (namespace, usual, USUAL_NAMESPACE) if place))
    applications = await _applications(api, kind, selection, namespace=namespace, places=places)
    home = namespace or await _home(api, applications, places)
    projects, live, settings, (secrets, problem), version = await asyncio.gather(
        _projects(api, home),
        _application_sets(api, applications),
        _config_maps(api, home),
        _secrets(api, home),
        _version(api, home),
    )
    return ControlPlane(
        namespace=home,
        applications=tuple(applications),
        projects=tuple(projects),
        live=tuple(live),
        settings=(*settings, *secrets),
        version=version,
        without_secrets=problem,
    )


# --- Applications --------------------------------------------------------------------------------------


async def _applications(
    api: Api, kind: Kind, selection: Selection, *, namespace: str, places: tuple[str, ...]
) -> list[Manifest]:
    if selection.names:
        several = await asyncio.gather(
            *(_named(api, kind, name, selection, places) for name in selection.names)
        )
        manifests = [manifest for ones in several for manifest in ones]
    else:
        manifests = await _listed(api, kind, selection, namespace=namespace, places=places)
    unique = {manifest.key: manifest for manifest in manifests if _is_selected(manifest, selection)}
    return [unique[key] for key in sorted(unique)]


def _is_selected(app: Manifest, selection: Selection) -> bool:
    ref = app.ref
    return selection.wants(namespace=ref.namespace, name=ref.name, project=text(app.spec.get("project")))


async def _named(
    api: Api, kind: Kind, name: str, selection: Selection, places: tuple[str, ...]
) -> list[Manifest]:
    """By namespace and name, or by name in any namespace; if that is forbidden, in those that may be read."""
    namespace, _, bare = name.rpartition("/")
    if namespace:
        return await _got(api, kind, [namespace], bare)
    if selection.app_namespaces and not selection.all_namespaces:
        return await _got(api, kind, selection.app_namespaces, bare)
    manifests: list[Manifest] = []
    try:
        query = Query(kind=kind, matching=named(bare))
        await api.read_into(manifests, query, Role.APPLICATION)
    except Forbidden:
        return await _got(api, kind, places, bare)
    return manifests


async def _got(api: Api, kind: Kind, places: Iterable[str], name: str) -> list[Manifest]:
    manifests: list[Manifest] = []
    refused: Forbidden | None = None
    for place in places:
        try:
            body = await api.object(kind, place, name)
        except Missing:
            continue
        except Forbidden as problem:
            refused = problem
            continue
        manifests.append(Manifest(body, role=Role.APPLICATION, origin=kind.path(place, name)))
    if refused is not None and not manifests:
        raise _not_allowed(kind, refused, verbs="get, list")
    return manifests


async def _listed(
    api: Api, kind: Kind, selection: Selection, *, namespace: str, places: tuple[str, ...]
) -> list[Manifest]:
    """All readable Applications: of all namespaces, or of the given ones, or of the usual one."""
    chosen: tuple[str, ...] = selection.app_namespaces
    if namespace and not chosen:
        chosen = (namespace,)
    manifests: list[Manifest] = []
    if selection.all_namespaces or not chosen:
        try:
            await api.read_into(manifests, Query(kind=kind, labels=selection.selector), Role.APPLICATION)
        except Forbidden as problem:
            chosen = chosen or places
            if selection.all_namespaces:
                api.gaps.unread(Unread(kind=kind, namespace="", problem=problem))
        else:
            return manifests
    refused: Forbidden | None = None
    for place in chosen:
        try:
            query = Query(kind=kind, namespace=place, labels=selection.selector)
            await api.read_into(manifests, query, Role.APPLICATION)
        except Forbidden as problem:
            refused = problem
    if refused is not None and not manifests:
        raise _not_allowed(kind, refused, verbs="list")
    return manifests


def _not_allowed(kind: Kind, problem: Forbidden, *, verbs: str) -> Forbidden:
    rule = f'{{apiGroups: ["{kind.group}"], resources: [{kind.plural}], verbs: [{verbs}]}}'
    return Forbidden(
        what="Kubernetes does not show Applications to this account",
        why=problem.server_message or problem.why,
        next=f"ask for a Role with {rule}, or name the namespace with --argocd-namespace",
        status=problem.status,
        server_message=problem.server_message,
        path=problem.path,
    )


# --- surrounding objects -------------------------------------------------------------------------------


async def _home(api: Api, applications: list[Manifest], places: tuple[str, ...]) -> str:
    """Argo CD writes its namespace to each status; before 2.12 its ConfigMap has to be searched for."""
    for app in applications:
        controller_namespace = text(app.status.get("controllerNamespace"))
        if controller_namespace:
            return controller_namespace
    kind = api.kinds.find("", "ConfigMap")
    if kind is not None:
        query = Query(kind=kind, matching="metadata.name=argocd-cm")
        namespaces = [
            config_map.ref.namespace for config_map in await api.read(query, Role.SETTINGS, quietly=True)
        ]
        homes = {app.ref.namespace for app in applications}
        if namespaces:
            return next((namespace for namespace in namespaces if namespace in homes), namespaces[0])
    return next((place for place in places if place in {a.ref.namespace for a in applications}), places[-1])


async def _projects(api: Api, home: str) -> list[Manifest]:
    kind = api.kinds.find(ARGO, "AppProject")
    return await api.read(Query(kind=kind, namespace=home), Role.PROJECT) if kind else []


async def _application_sets(api: Api, applications: list[Manifest]) -> list[Manifest]:
    """ApplicationSets that created one of these Applications."""
    kind = api.kinds.find(ARGO, "ApplicationSet")
    makers = {
        Key(ARGO, "ApplicationSet", app.ref.namespace, text(fields(owner).get("name")))
        for app in applications
        for owner in items(app.meta.get("ownerReferences"))
        if fields(owner).get("kind") == "ApplicationSet"
    }
    if kind is None or not makers:
        return []
    places = sorted({maker.namespace for maker in makers})
    several = await asyncio.gather(
        *(api.read(Query(kind=kind, namespace=place), quietly=True) for place in places)
    )
    return [manifest for ones in several for manifest in ones if manifest.key in makers]


async def _config_maps(api: Api, home: str) -> list[Manifest]:
    """Argo CD only reads ConfigMaps with this label, so others with these names are ignored."""
    kind = api.kinds.find("", "ConfigMap")
    if kind is None:
        return []
    config_maps: list[Manifest] = []
    try:
        await api.read_into(config_maps, Query(kind=kind, namespace=home, labels=_PART_OF), Role.SETTINGS)
    except HttpError:
        several = await asyncio.gather(*(api.get(kind, home, name, Role.SETTINGS) for name in _SETTINGS))
        return [config_map for config_map in several if config_map is not None]
    if not any(config_map.ref.name == "argocd-cm" for config_map in config_maps):
        several = await asyncio.gather(
            *(api.get(kind, home, name, Role.SETTINGS, quietly=True) for name in _SETTINGS)
        )
        config_maps += [
            config_map
            for config_map in several
            if config_map is not None and config_map.key not in {f.key for f in config_maps}
        ]
    return config_maps


async def _secrets(api: Api, home: str) -> tuple[list[Manifest], HttpError | None]:
    """Repository and cluster secrets. Everything but their addresses is masked later."""
    kind = api.kinds.find("", "Secret")
    if kind is None:
        return [], None
    secrets: list[Manifest] = []
    try:
        await api.read_into(secrets, Query(kind=kind, namespace=home, labels=_SECRET_TYPE), Role.SETTINGS)
    except HttpError as problem:
        return [], problem
    return secrets, None


async def _version(api: Api, home: str) -> str:
    """Argo CD's version, from the image of the application controller."""
    label = "app.kubernetes.io/name=argocd-application-controller"
    for name in ("StatefulSet", "Deployment"):
        kind = api.kinds.find("apps", name)
        if kind is None:
            continue
        for workload in await api.read(Query(kind=kind, namespace=home, labels=label), quietly=True):
            for container in items(dig(workload.body, "spec", "template", "spec", "containers")):
                tagged = _TAG.search(text(fields(container).get("image")))
                if tagged:
                    return f"v{tagged[1]}"
    return ""

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


async def read_control_plane(api: Api, wanted: Selection, *, namespace: str, usual: str) -> ControlPlane:
    """`namespace` is the one given for Argo CD; `usual` is that of the context."""
    kind = api.kinds.find(ARGO, "Application")
    if kind is None:
        raise NotFound(
            what=f"{api.client.name} has no Argo CD",
            why="it has no kind Application of argoproj.io",
            next="choose the cluster that Argo CD runs in with --context, or ask Argo CD with --server",
        )
    places = tuple(dict.fromkeys(one for one in (namespace, usual, USUAL_NAMESPACE) if one))
    applications = await _applications(api, kind, wanted, namespace=namespace, places=places)
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
    api: Api, kind: Kind, wanted: Selection, *, namespace: str, places: tuple[str, ...]
) -> list[Manifest]:
    if wanted.names:
        several = await asyncio.gather(*(_named(api, kind, name, wanted, places) for name in wanted.names))
        found = [one for ones in several for one in ones]
    else:
        found = await _listed(api, kind, wanted, namespace=namespace, places=places)
    unique = {one.key: one for one in found if _is_wanted(one, wanted)}
    return [unique[key] for key in sorted(unique)]


def _is_wanted(app: Manifest, wanted: Selection) -> bool:
    ref = app.ref
    return wanted.wants(namespace=ref.namespace, name=ref.name, project=text(app.spec.get("project")))


async def _named(
    api: Api, kind: Kind, name: str, wanted: Selection, places: tuple[str, ...]
) -> list[Manifest]:
    """By namespace and name, or by name in any namespace; if that is forbidden, in those that may be read."""
    namespace, _, bare = name.rpartition("/")
    if namespace:
        return await _got(api, kind, [namespace], bare)
    if wanted.app_namespaces and not wanted.all_namespaces:
        return await _got(api, kind, wanted.app_namespaces, bare)
    found: list[Manifest] = []
    try:
        query = Query(kind=kind, matching=named(bare))
        await api.read_into(found, query, Role.APPLICATION)
    except Forbidden:
        return await _got(api, kind, places, bare)
    return found


async def _got(api: Api, kind: Kind, places: Iterable[str], name: str) -> list[Manifest]:
    found: list[Manifest] = []
    refused: Forbidden | None = None
    for place in places:
        try:
            body = await api.object(kind, place, name)
        except Missing:
            continue
        except Forbidden as problem:
            refused = problem
            continue
        found.append(Manifest(body, role=Role.APPLICATION, origin=kind.path(place, name)))
    if refused is not None and not found:
        raise _not_allowed(kind, refused, verbs="get, list")
    return found


async def _listed(
    api: Api, kind: Kind, wanted: Selection, *, namespace: str, places: tuple[str, ...]
) -> list[Manifest]:
    """All readable Applications: of all namespaces, or of the given ones, or of the usual one."""
    chosen: tuple[str, ...] = wanted.app_namespaces
    if namespace and not chosen:
        chosen = (namespace,)
    found: list[Manifest] = []
    if wanted.all_namespaces or not chosen:
        try:
            await api.read_into(found, Query(kind=kind, labels=wanted.selector), Role.APPLICATION)
        except Forbidden as problem:
            chosen = chosen or places
            if wanted.all_namespaces:
                api.gaps.unread(Unread(kind=kind, namespace="", problem=problem))
        else:
            return found
    refused: Forbidden | None = None
    for place in chosen:
        try:
            query = Query(kind=kind, namespace=place, labels=wanted.selector)
            await api.read_into(found, query, Role.APPLICATION)
        except Forbidden as problem:
            refused = problem
    if refused is not None and not found:
        raise _not_allowed(kind, refused, verbs="list")
    return found


def _not_allowed(kind: Kind, problem: Forbidden, *, verbs: str) -> Forbidden:
    rule = f'{{apiGroups: ["{kind.group}"], resources: [{kind.plural}], verbs: [{verbs}]}}'
    return Forbidden(
        what="Kubernetes does not show Applications to this account",
        why=problem.said or problem.why,
        next=f"ask for a Role with {rule}, or name the namespace with --argocd-namespace",
        status=problem.status,
        said=problem.said,
        path=problem.path,
    )


# --- surrounding objects -------------------------------------------------------------------------------


async def _home(api: Api, applications: list[Manifest], places: tuple[str, ...]) -> str:
    """Argo CD writes its namespace to each status; before 2.12 its ConfigMap has to be searched for."""
    for app in applications:
        told = text(app.status.get("controllerNamespace"))
        if told:
            return told
    kind = api.kinds.find("", "ConfigMap")
    if kind is not None:
        query = Query(kind=kind, matching="metadata.name=argocd-cm")
        found = [one.ref.namespace for one in await api.read(query, Role.SETTINGS, quietly=True)]
        homes = {app.ref.namespace for app in applications}
        if found:
            return next((one for one in found if one in homes), found[0])
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
    return [one for ones in several for one in ones if one.key in makers]


async def _config_maps(api: Api, home: str) -> list[Manifest]:
    """Argo CD only reads ConfigMaps with this label, so others with these names are ignored."""
    kind = api.kinds.find("", "ConfigMap")
    if kind is None:
        return []
    found: list[Manifest] = []
    try:
        await api.read_into(found, Query(kind=kind, namespace=home, labels=_PART_OF), Role.SETTINGS)
    except HttpError:
        several = await asyncio.gather(*(api.get(kind, home, name, Role.SETTINGS) for name in _SETTINGS))
        return [one for one in several if one is not None]
    if not any(one.ref.name == "argocd-cm" for one in found):
        several = await asyncio.gather(
            *(api.get(kind, home, name, Role.SETTINGS, quietly=True) for name in _SETTINGS)
        )
        found += [one for one in several if one is not None and one.key not in {f.key for f in found}]
    return found


async def _secrets(api: Api, home: str) -> tuple[list[Manifest], HttpError | None]:
    """Repository and cluster secrets. Everything but their addresses is masked later."""
    kind = api.kinds.find("", "Secret")
    if kind is None:
        return [], None
    found: list[Manifest] = []
    try:
        await api.read_into(found, Query(kind=kind, namespace=home, labels=_SECRET_TYPE), Role.SETTINGS)
    except HttpError as problem:
        return [], problem
    return found, None


async def _version(api: Api, home: str) -> str:
    """Argo CD's version, from the image of the application controller."""
    label = "app.kubernetes.io/name=argocd-application-controller"
    for name in ("StatefulSet", "Deployment"):
        kind = api.kinds.find("apps", name)
        if kind is None:
            continue
        for one in await api.read(Query(kind=kind, namespace=home, labels=label), quietly=True):
            for container in items(dig(one.body, "spec", "template", "spec", "containers")):
                tagged = _TAG.search(text(fields(container).get("image")))
                if tagged:
                    return f"v{tagged[1]}"
    return ""

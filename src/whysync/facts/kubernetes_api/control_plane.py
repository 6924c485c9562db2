"""Argo CD's own objects: Applications, AppProjects, ApplicationSets, settings."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping

import msgspec

from whysync.errors import NotFound
from whysync.facts.http.errors import Forbidden, HttpError, Missing
from whysync.facts.kubernetes_api.api import Api
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.facts.kubernetes_api.listing import Query, named
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role, owner_of_kind
from whysync.kubernetes.api.ref import Key, Ref

ARGO = "argoproj.io"
DEFAULT_NAMESPACE = "argocd"
_PART_OF_ARGOCD = "app.kubernetes.io/part-of=argocd"
_SECRET_TYPE = "argocd.argoproj.io/secret-type"
_CONFIG_MAPS = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
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
    secrets_error: HttpError | None = None
    # by the name that was asked for: Applications that the account may not read
    not_shown: Mapping[str, Gap] = msgspec.field(default_factory=dict[str, Gap])


async def read_control_plane(
    api: Api, selection: Selection, *, namespace: str, context_namespace: str
) -> ControlPlane:
    """`namespace` is the one given for Argo CD; `context_namespace` is that of the context."""
    kind = api.kinds.find(ARGO, "Application")
    if kind is None:
        raise NotFound(
            what=f"{api.client.name} has no Argo CD",
            why="it does not serve the kind Application of argoproj.io",
            next="select the cluster that Argo CD runs in with --context, or use Argo CD with --server",
        )
    candidates = tuple(
        dict.fromkeys(
            candidate for candidate in (namespace, context_namespace, DEFAULT_NAMESPACE) if candidate
        )
    )
    named_sets = [
        manifest
        for name in selection.sets
        for manifest in await _named_sets(api, name, selection, candidates)
    ]
    not_shown: dict[str, Gap] = {}
    applications = await _applications(
        api,
        kind,
        selection,
        namespace=namespace,
        candidates=candidates,
        sets=named_sets,
        not_shown=not_shown,
    )
    argocd_namespace = namespace or await _argocd_namespace(api, applications, candidates)
    projects, live, settings, (secrets, problem), version = await asyncio.gather(
        _projects(api, argocd_namespace),
        _application_sets(api, applications),
        _config_maps(api, argocd_namespace),
        _secrets(api, argocd_namespace),
        _version(api, argocd_namespace),
    )
    return ControlPlane(
        namespace=argocd_namespace,
        applications=tuple(applications),
        projects=tuple(projects),
        live=(
            *named_sets,
            *(manifest for manifest in live if manifest.key not in {m.key for m in named_sets}),
        ),
        settings=(*settings, *secrets),
        version=version,
        secrets_error=problem,
        not_shown=not_shown,
    )


# --- Applications --------------------------------------------------------------------------------------


async def _applications(
    api: Api,
    kind: Kind,
    selection: Selection,
    *,
    namespace: str,
    candidates: tuple[str, ...],
    sets: list[Manifest],
    not_shown: dict[str, Gap],
) -> list[Manifest]:
    """Raises `Forbidden` if none of them may be read; otherwise those that may not are in `not_shown`."""
    if selection.sets and not selection.names:
        return await _generated(api, kind, sets)

    async def by_name(name: str) -> list[Manifest]:
        try:
            return await _get_by_name(api, kind, name, selection, candidates)
        except Forbidden as problem:
            if len(selection.names) == 1:
                raise
            not_shown[name] = Gap(
                kind=GapKind.FORBIDDEN, what=f"Application {name}", why=problem.why, how_to_get=problem.next
            )
            return []

    if selection.names:
        lists = await asyncio.gather(*map(by_name, selection.names))
        manifests = [manifest for manifests in lists for manifest in manifests]
        for name in selection.also:
            with contextlib.suppress(Forbidden):
                manifests += await _get_by_name(api, kind, name, selection, candidates)
    else:
        manifests = await _list_applications(api, kind, selection, namespace=namespace, candidates=candidates)
    by_key = {manifest.key: manifest for manifest in manifests if _is_selected(manifest, selection)}
    return [by_key[key] for key in sorted(by_key)]


async def _generated(api: Api, kind: Kind, sets: list[Manifest]) -> list[Manifest]:
    """The Applications of these sets, which are in the same namespaces."""
    owners = {(manifest.ref.namespace, manifest.ref.name) for manifest in sets}
    manifests: list[Manifest] = []
    for namespace in sorted({namespace for namespace, _ in owners}):
        listed: list[Manifest] = []
        try:
            await api.read_into(listed, Query(kind=kind, namespace=namespace), Role.APPLICATION)
        except Forbidden as problem:
            raise _forbidden(kind, problem, verbs="list") from problem
        manifests += [app for app in listed if (namespace, owner_of_kind(app, "ApplicationSet")) in owners]
    return sorted(manifests, key=lambda manifest: manifest.key)


async def _named_sets(
    api: Api, name: str, selection: Selection, candidates: tuple[str, ...]
) -> list[Manifest]:
    kind = api.kinds.find(ARGO, "ApplicationSet")
    if kind is None:
        return []
    found = await _get_by_name(api, kind, name, selection, candidates)
    return [Manifest(manifest.body, role=Role.LIVE, origin=manifest.origin) for manifest in found]


def _is_selected(app: Manifest, selection: Selection) -> bool:
    ref = app.ref
    return selection.matches(namespace=ref.namespace, name=ref.name, project=text(app.spec.get("project")))


async def _get_by_name(
    api: Api, kind: Kind, name: str, selection: Selection, candidates: tuple[str, ...]
) -> list[Manifest]:
    """By namespace and name, or by name in any namespace; if that is forbidden, in those that may be read."""
    namespace, _, app_name = name.rpartition("/")
    if namespace:
        return await _get_in_namespaces(api, kind, [namespace], app_name)
    if selection.app_namespaces and not selection.all_namespaces:
        return await _get_in_namespaces(api, kind, selection.app_namespaces, app_name)
    manifests: list[Manifest] = []
    try:
        query = Query(kind=kind, matching=named(app_name))
        await api.read_into(manifests, query, Role.APPLICATION)
    except Forbidden:
        return await _get_in_namespaces(api, kind, candidates, app_name)
    return manifests


async def _get_in_namespaces(api: Api, kind: Kind, candidates: Iterable[str], name: str) -> list[Manifest]:
    manifests: list[Manifest] = []
    forbidden: Forbidden | None = None
    for candidate in candidates:
        try:
            body = await api.object(kind, candidate, name)
        except Missing:
            continue
        except Forbidden as problem:
            forbidden = problem
            continue
        manifests.append(Manifest(body, role=Role.APPLICATION, origin=kind.path(candidate, name)))
    if forbidden is not None and not manifests:
        raise _forbidden(kind, forbidden, verbs="get, list")
    return manifests


async def _list_applications(
    api: Api, kind: Kind, selection: Selection, *, namespace: str, candidates: tuple[str, ...]
) -> list[Manifest]:
    """All readable Applications: of all namespaces, or of the given ones, or of the usual one."""
    namespaces: tuple[str, ...] = selection.app_namespaces
    if namespace and not namespaces:
        namespaces = (namespace,)
    manifests: list[Manifest] = []
    if selection.all_namespaces or not namespaces:
        try:
            await api.read_into(manifests, Query(kind=kind, labels=selection.selector), Role.APPLICATION)
        except Forbidden as problem:
            namespaces = namespaces or candidates
            if selection.all_namespaces:
                api.gaps.add(_applications_gap(kind, "", problem))
        else:
            return manifests
    forbidden: Forbidden | None = None
    for candidate in namespaces:
        try:
            query = Query(kind=kind, namespace=candidate, labels=selection.selector)
            await api.read_into(manifests, query, Role.APPLICATION)
        except Forbidden as problem:
            forbidden = problem
            if candidate in selection.app_namespaces:
                api.gaps.add(_applications_gap(kind, candidate, problem))
    if forbidden is not None and not manifests:
        raise _forbidden(kind, forbidden, verbs="list")
    return manifests


def _applications_gap(kind: Kind, namespace: str, problem: Forbidden) -> Gap:
    refused = _forbidden(kind, problem, verbs="list")
    return Gap(
        kind=GapKind.FORBIDDEN,
        what=f"Applications in namespace {namespace}" if namespace else "Applications in all namespaces",
        why=refused.why,
        how_to_get=refused.next,
        about=Ref(group=kind.group, kind=kind.kind, namespace=namespace, name=""),
    )


def _forbidden(kind: Kind, problem: Forbidden, *, verbs: str) -> Forbidden:
    rule = f'{{apiGroups: ["{kind.group}"], resources: [{kind.plural}], verbs: [{verbs}]}}'
    return Forbidden(
        what=f"Kubernetes does not show {kind.kind}s to this account",
        why=problem.server_message or problem.why,
        next=f"ask for a Role with {rule}, or set the namespace with --argocd-namespace",
        status=problem.status,
        server_message=problem.server_message,
        path=problem.path,
    )


# --- surrounding objects -------------------------------------------------------------------------------


async def _argocd_namespace(api: Api, applications: list[Manifest], candidates: tuple[str, ...]) -> str:
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
        app_namespaces = {app.ref.namespace for app in applications}
        if namespaces:
            return next((namespace for namespace in namespaces if namespace in app_namespaces), namespaces[0])
    return next(
        (candidate for candidate in candidates if candidate in {a.ref.namespace for a in applications}),
        candidates[-1],
    )


async def _projects(api: Api, argocd_namespace: str) -> list[Manifest]:
    kind = api.kinds.find(ARGO, "AppProject")
    return await api.read(Query(kind=kind, namespace=argocd_namespace), Role.PROJECT) if kind else []


async def _application_sets(api: Api, applications: list[Manifest]) -> list[Manifest]:
    """ApplicationSets that created one of these Applications."""
    kind = api.kinds.find(ARGO, "ApplicationSet")
    owners = {
        Key(ARGO, "ApplicationSet", app.ref.namespace, text(fields(owner).get("name")))
        for app in applications
        for owner in items(app.meta.get("ownerReferences"))
        if fields(owner).get("kind") == "ApplicationSet"
    }
    if kind is None or not owners:
        return []
    candidates = sorted({owner_key.namespace for owner_key in owners})
    lists = await asyncio.gather(
        *(api.read(Query(kind=kind, namespace=candidate), quietly=True) for candidate in candidates)
    )
    return [manifest for manifests in lists for manifest in manifests if manifest.key in owners]


async def _config_maps(api: Api, argocd_namespace: str) -> list[Manifest]:
    """Argo CD only reads ConfigMaps with this label, so others with these names are ignored."""
    kind = api.kinds.find("", "ConfigMap")
    if kind is None:
        return []
    config_maps: list[Manifest] = []
    try:
        await api.read_into(
            config_maps, Query(kind=kind, namespace=argocd_namespace, labels=_PART_OF_ARGOCD), Role.SETTINGS
        )
    except HttpError:
        lists = await asyncio.gather(
            *(api.get(kind, argocd_namespace, name, Role.SETTINGS) for name in _CONFIG_MAPS)
        )
        return [config_map for config_map in lists if config_map is not None]
    if not any(config_map.ref.name == "argocd-cm" for config_map in config_maps):
        lists = await asyncio.gather(
            *(api.get(kind, argocd_namespace, name, Role.SETTINGS, quietly=True) for name in _CONFIG_MAPS)
        )
        config_maps += [
            config_map
            for config_map in lists
            if config_map is not None and config_map.key not in {f.key for f in config_maps}
        ]
    return config_maps


async def _secrets(api: Api, argocd_namespace: str) -> tuple[list[Manifest], HttpError | None]:
    """Repository and cluster secrets. Everything but their addresses is masked later."""
    kind = api.kinds.find("", "Secret")
    if kind is None:
        return [], None
    secrets: list[Manifest] = []
    try:
        await api.read_into(
            secrets, Query(kind=kind, namespace=argocd_namespace, labels=_SECRET_TYPE), Role.SETTINGS
        )
    except HttpError as problem:
        return [], problem
    return secrets, None


async def _version(api: Api, argocd_namespace: str) -> str:
    """Argo CD's version, from the image of the application controller."""
    label = "app.kubernetes.io/name=argocd-application-controller"
    for name in ("StatefulSet", "Deployment"):
        kind = api.kinds.find("apps", name)
        if kind is None:
            continue
        for workload in await api.read(
            Query(kind=kind, namespace=argocd_namespace, labels=label), quietly=True
        ):
            for container in items(dig(workload.body, "spec", "template", "spec", "containers")):
                tag = _TAG.search(text(fields(container).get("image")))
                if tag:
                    return f"v{tag[1]}"
    return ""

"""From facts to a world that goes on: the repository, the cluster and the marks that facts may lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.context import DEFAULT_PROJECT
from whysync.argocd.app_controller.destination import Destination
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.projects.cluster_secrets import namespaces_in, told_by
from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.argocd.repo_server.repository import Folder, GitRepositories, GitRepository
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata, instance_name, owner_of
from whysync.json_tree import MISSING, Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock


def with_project(application: Object, projects: Iterable[Object]) -> list[Object]:
    """The projects; the app's own, if it is not among the facts, is one that permits everything.

    One of which Argo CD says that it does not exist stays away.
    """
    found = list(projects)
    app = decode(application, Application)[0] or Application()
    if any(dig(one, "metadata", "name") == app.project for one in found):
        return found
    if any("which does not exist" in condition.message for condition in app.status.conditions):
        return found
    meta: Object = {"name": app.project, "namespace": app.namespace}
    return [*found, {**DEFAULT_PROJECT, "metadata": meta}]


def marked_live(
    application: Object, desired: Iterable[Object], live: Iterable[Object], settings: Settings, namespace: str
) -> list[Object]:
    """The live objects, with the app's marks on those that Git or the app's own rows name.

    Only where nothing is marked at all, as in facts that were written by hand: else the marks tell.
    """
    objects = [_sound(live_object) for live_object in live]
    method, label = settings.tracking_method, settings.instance_label_key
    if any(owner_of(obj, method=method, label_key=label) for obj in objects):
        return objects
    app = decode(application, Application)[0] or Application()
    own = {row.key for row in app.status.resources if not row.hook}
    for target in desired:
        ref = ref_of(target)
        own |= {ref.key, ref.key._replace(namespace=ref.namespace or app.spec.destination.namespace)}
    instance = instance_name(app.name, app.namespace, namespace)
    return [_marked(obj, instance, app, settings) if ref_of(obj).key in own else obj for obj in objects]


def _sound(obj: Object) -> Object:
    """Without a record of writers that no API server could have written."""
    rows = dig(obj, "metadata", "managedFields")
    if rows is MISSING or (isinstance(rows, list) and all(_is_row(fields(row)) for row in rows)):
        return obj
    meta: Object = {
        key: value for key, value in fields(obj.get("metadata")).items() if key != "managedFields"
    }
    return {**obj, "metadata": meta}


def _is_row(row: Object) -> bool:
    told = text(row.get("apiVersion")) and text(row.get("fieldsType")) and text(row.get("operation"))
    return bool(told) and _is_set(row.get("fieldsV1"))


def _is_set(value: Json) -> bool:
    """Objects all the way down, but for `v:` and the like that name values."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, dict):
            return False
        for key, below in here.items():
            if key != "." and key[:2] not in ("f:", "k:", "v:", "i:"):
                return False
            waiting.append(below)
    return True


def _marked(obj: Object, instance: str, app: Application, settings: Settings) -> Object:
    if dig(obj, "metadata", "ownerReferences"):
        return obj
    try:
        return settings.with_tracking(obj, app=instance, namespace=app.spec.destination.namespace)
    except (MalformedMetadata, LabelTooLong):
        return obj


def repositories_for(application: Object, desired: Iterable[Object], clock: Clock) -> GitRepositories:
    """Repositories in which the app's first source renders to these objects, at the commit compared last."""
    spec = fields(application.get("spec"))
    status = fields(dig(application, "status", "sync"))
    several = has_multiple_sources(spec)
    sources = [fields(source) for source in items(spec.get("sources"))] if several else [source_of(spec)]
    revisions = (
        [text(revision) for revision in items(status.get("revisions"))]
        if several
        else [text(status.get("revision"))]
    )
    found: dict[str, GitRepository] = {}
    kind = text(dig(application, "status", "sourceType")) or "Directory"
    for index, source in enumerate(sources):
        url = text(source.get("repoURL"))
        git = found.setdefault(normalize_git_url(url), GitRepository(url=url, clock=clock))
        branch = text(source.get("targetRevision"))
        path = (text(source.get("path")) or text(source.get("chart"))).strip("/") or "."
        objects = tuple(desired) if index == 0 else ()
        commit = revisions[index] if index < len(revisions) else ""
        git.push(
            {path: Folder(manifests=objects, source_type=kind)},
            branch=branch or git.default_branch,
            commit=commit,
        )
    return GitRepositories(found.values())


def destination_for(application: Object, model: ApiServer, secrets: Iterable[Object] = ()) -> Destination:
    """The cluster that an app names, whatever its name or address; as its Secret has it, if there is one."""
    app = decode(application, Application)[0] or Application()
    told = app.spec.destination
    known = Destination(model=model)
    named = (one for one in map(told_by, secrets) if _is_named(one, told.server, told.name))
    found = next(named, dict[str, str]())
    return Destination(
        model=model,
        server=found.get("server", "")
        or told.server
        or (known.server if told.name in ("", known.name) else f"https://{told.name}"),
        name=found.get("name", "")
        or told.name
        or (known.name if told.server in ("", known.server) else told.server),
        namespaces=namespaces_in(found),
        cluster_resources=found.get("clusterResources") == "true",
    )


def _is_named(cluster: Mapping[str, str], server: str, name: str) -> bool:
    known = cluster.get("server", "")
    return bool(known) and (known == server if server else cluster.get("name") == name)

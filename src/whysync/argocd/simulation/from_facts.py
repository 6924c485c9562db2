"""Complete what facts may lack: the app's project, its cluster, tracking marks on live objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.context import DEFAULT_PROJECT
from whysync.argocd.projects.cluster_secrets import cluster_secret_data, namespaces_in
from whysync.argocd.settings import Settings
from whysync.argocd.simulation.world import WorldCluster
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata, instance_name, owner_of
from whysync.json_tree import MISSING, Json, Object, dig, fields, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import ref_of


def with_project(
    application: Object, projects: Iterable[Object], *, exists: bool = True
) -> tuple[Object, ...]:
    """The projects; if the facts lack the app's own and it `exists`, one that permits everything is added."""
    known = tuple(projects)
    app = decode(application, Application)[0] or Application()
    if not exists or any(dig(project, "metadata", "name") == app.project for project in known):
        return known
    meta: Object = {"name": app.project, "namespace": app.namespace}
    return (*known, {**DEFAULT_PROJECT, "metadata": meta})


def marked_live(
    application: Object, desired: Iterable[Object], live: Iterable[Object], settings: Settings, namespace: str
) -> list[Object]:
    """The live objects, with the app's tracking marks on those that Git or the app's own rows name.

    Nothing is added if any object is marked; facts that were written by hand often lack all marks.
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
    has_header = text(row.get("apiVersion")) and text(row.get("fieldsType")) and text(row.get("operation"))
    return bool(has_header) and _is_set(row.get("fieldsV1"))


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


def cluster_of(application: Object, secrets: Iterable[Object] = ()) -> WorldCluster:
    """The cluster that an app names, with the settings of its Secret if there is one; without objects."""
    app = decode(application, Application)[0] or Application()
    destination, default = app.spec.destination, WorldCluster()
    named = (
        cluster_data
        for cluster_data in map(cluster_secret_data, secrets)
        if _is_named(cluster_data, destination.server, destination.name)
    )
    known = next(named, dict[str, str]())
    return WorldCluster(
        server=known.get("server", "")
        or destination.server
        or (default.server if destination.name in ("", default.name) else f"https://{destination.name}"),
        name=known.get("name", "")
        or destination.name
        or (default.name if destination.server in ("", default.server) else destination.server),
        namespaces=namespaces_in(known),
        cluster_resources=known.get("clusterResources") == "true",
    )


def _is_named(cluster: Mapping[str, str], server: str, name: str) -> bool:
    known = cluster.get("server", "")
    return bool(known) and (known == server if server else cluster.get("name") == name)

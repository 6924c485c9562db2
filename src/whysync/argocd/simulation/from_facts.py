"""Completes incomplete facts: adds the app's project, its cluster, and tracking metadata of live objects."""

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
    application: Object, projects: Iterable[Object], *, exists: bool = True, children: Iterable[Object] = ()
) -> tuple[Object, ...]:
    """The projects; if the facts lack the app's own and it `exists`, one that permits everything is added.

    So are those of `children`, the Applications that it deploys.
    """
    known = {text(dig(project, "metadata", "name")): project for project in projects}
    for body in (*([application] if exists else []), *children):
        app = decode(body, Application)[0] or Application()
        meta: Object = {"name": app.project, "namespace": app.namespace}
        known.setdefault(app.project, {**DEFAULT_PROJECT, "metadata": meta})
    return tuple(known.values())


def with_tracking_metadata(
    application: Object, desired: Iterable[Object], live: Iterable[Object], settings: Settings, namespace: str
) -> list[Object]:
    """The live objects, with the app's tracking metadata on those in Git or in the app's `status.resources`.

    If any object has tracking metadata, nothing is added: only handwritten facts lack it altogether.
    """
    objects = [_without_invalid_managed_fields(live_object) for live_object in live]
    method, label_key = settings.tracking_method, settings.instance_label_key
    if any(owner_of(obj, method=method, label_key=label_key) for obj in objects):
        return objects
    app = decode(application, Application)[0] or Application()
    app_keys = {row.key for row in app.status.resources if not row.hook}
    for target in desired:
        ref = ref_of(target)
        app_keys |= {ref.key, ref.key._replace(namespace=ref.namespace or app.spec.destination.namespace)}
    instance = instance_name(app.name, app.namespace, namespace)
    return [
        _with_tracking_metadata(obj, instance, app, settings) if ref_of(obj).key in app_keys else obj
        for obj in objects
    ]


def _without_invalid_managed_fields(obj: Object) -> Object:
    """Without `managedFields` if no API server could have written them."""
    entries = dig(obj, "metadata", "managedFields")
    if entries is MISSING or (
        isinstance(entries, list) and all(_is_managed_fields_entry(fields(entry)) for entry in entries)
    ):
        return obj
    meta: Object = {
        key: value for key, value in fields(obj.get("metadata")).items() if key != "managedFields"
    }
    return {**obj, "metadata": meta}


def _is_managed_fields_entry(entry: Object) -> bool:
    has_header = (
        text(entry.get("apiVersion")) and text(entry.get("fieldsType")) and text(entry.get("operation"))
    )
    return bool(has_header) and _is_fields_v1(entry.get("fieldsV1"))


def _is_fields_v1(value: Json) -> bool:
    """Is it valid `fieldsV1`: nested objects whose keys have a known prefix?"""
    pending = [value]
    while pending:
        current = pending.pop()
        if not isinstance(current, dict):
            return False
        for key, child in current.items():
            if key != "." and key[:2] not in ("f:", "k:", "v:", "i:"):
                return False
            pending.append(child)
    return True


def _with_tracking_metadata(obj: Object, instance: str, app: Application, settings: Settings) -> Object:
    if dig(obj, "metadata", "ownerReferences"):
        return obj
    try:
        return settings.with_tracking(obj, app=instance, namespace=app.spec.destination.namespace)
    except (MalformedMetadata, LabelTooLong):
        return obj


def cluster_of(application: Object, secrets: Iterable[Object] = ()) -> WorldCluster:
    """The destination cluster of an app, configured from its cluster Secret if any; without objects."""
    app = decode(application, Application)[0] or Application()
    destination, default = app.spec.destination, WorldCluster()
    matching = (
        cluster_data
        for cluster_data in map(cluster_secret_data, secrets)
        if _is_destination(cluster_data, destination.server, destination.name)
    )
    secret = next(matching, dict[str, str]())
    return WorldCluster(
        server=secret.get("server", "")
        or destination.server
        or (default.server if destination.name in ("", default.name) else f"https://{destination.name}"),
        name=secret.get("name", "")
        or destination.name
        or (default.name if destination.server in ("", default.server) else destination.server),
        namespaces=namespaces_in(secret),
        cluster_resources=secret.get("clusterResources") == "true",
    )


def _is_destination(cluster: Mapping[str, str], server: str, name: str) -> bool:
    cluster_server = cluster.get("server", "")
    return bool(cluster_server) and (cluster_server == server if server else cluster.get("name") == name)

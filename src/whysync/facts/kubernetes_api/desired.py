"""The desired state without rendering: plain YAML of a folder, or the manifests of the last sync.

Argo CD applies with an annotation that contains the object as in Git. It is the desired state as long as the
last sync and the last comparison have the same revision, and nobody else has applied since. If the live
object agrees with all of it, it does not explain why a resource is OutOfSync and is omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whysync.argocd.api.application import Application
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata, instance_name
from whysync.facts.bundle.attribution import Desired, attributed
from whysync.facts.bundle.entries import Entry, is_log
from whysync.facts.bundle.inputs import files_of
from whysync.facts.bundle.limits import Budget, BundleLimits
from whysync.facts.bundle.objects import is_object, objects_in
from whysync.facts.kubernetes_api.discovery import Kinds
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, group_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

_ARGOCD_MANAGERS = ("argocd-controller", "argocd-application-controller", "argocd")


def local_manifests(
    folder: str,
    applications: Iterable[tuple[Manifest, Application]],
    settings: tuple[Manifest, ...],
    kinds: Kinds,
    argocd_namespace: str,
) -> tuple[dict[str, tuple[Manifest, ...]], list[Gap]]:
    """The objects in a folder of plain YAML, with namespace and tracking metadata as in Argo CD."""
    limits = BundleLimits()
    desired_objects: list[Desired] = []
    gaps: list[Gap] = []
    for file in files_of(folder, Budget(limits), None):
        if not isinstance(file, Entry) or is_log(file.name):
            continue
        for document in yaml.documents(file.data, limits=limits.yaml):
            if isinstance(document, yaml.Broken):
                gaps.append(
                    Gap(
                        kind=GapKind.UNREADABLE,
                        what=f"part of {file.name}",
                        why=str(document),
                        how_to_get="fix the file",
                    )
                )
                continue
            for body in objects_in(document.body):
                if isinstance(body, dict) and is_object(body):
                    manifest = Manifest(body, role=Role.DESIRED, origin=file.name)
                    desired_objects.append(
                        Desired(manifest=manifest, candidates=tuple(file.name.split("/")[:-1]))
                    )
    apps = list(applications)
    owned, orphans = attributed(desired_objects, [manifest for manifest, _ in apps], settings)
    by_name = {app.qualified_name: app for _, app in apps}
    config = next((setting.body for setting in settings if setting.ref.name == "argocd-cm"), None)
    tracking = Settings.from_config_maps(config, None)
    completed: dict[str, tuple[Manifest, ...]] = {}
    for name, manifests in owned.items():
        app = by_name.get(name)
        if app is not None:
            manifests = [
                manifest.with_body(as_argocd_compares(manifest.body, app, kinds, tracking, argocd_namespace))
                for manifest in manifests
            ]
        completed[name] = tuple(manifests)
    return completed, [*gaps, *orphans]


def as_argocd_compares(
    body: Object, app: Application, kinds: Kinds, settings: Settings, argocd_namespace: str
) -> Object:
    """A manifest with the namespace and the tracking metadata that Argo CD gives it."""
    kind = kinds.find(group_of(text(body.get("apiVersion"))), text(body.get("kind")))
    meta = fields(body.get("metadata"))
    namespace = app.spec.destination.namespace
    if kind is not None and kind.namespaced and not meta.get("namespace"):
        meta["namespace"] = namespace
    instance = instance_name(app.name, app.namespace, argocd_namespace)
    try:
        return settings.with_tracking(body, app=instance, namespace=namespace)
    except (MalformedMetadata, LabelTooLong):
        return body


def last_applied(
    apps: Iterable[Application], live: Mapping[Key, Manifest]
) -> dict[str, tuple[Manifest, ...]]:
    """By Application: the last applied manifests of its OutOfSync resources."""
    by_app: dict[str, tuple[Manifest, ...]] = {}
    for app in apps:
        if app.status.sync.status == "OutOfSync" and _is_of_the_compared_revision(app):
            objects = tuple(_last_applied_of(app, live))
            if objects:
                by_app[app.qualified_name] = objects
    return by_app


def _last_applied_of(app: Application, live: Mapping[Key, Manifest]) -> Iterator[Manifest]:
    for resource in app.status.resources:
        live_object = live.get(resource.key)
        if resource.status != "OutOfSync" or resource.requires_pruning or live_object is None:
            continue
        body = applied_by_argocd(live_object)
        if body is not None and not _has_all_values(body, live_object.body):
            origin = f"the last sync (annotation {LAST_APPLIED})"
            yield Manifest(body, role=Role.DESIRED, origin=origin, cluster=live_object.cluster)


def applied_by_argocd(live: Manifest) -> Object | None:
    """The object in the last-applied annotation; `None` if someone other than Argo CD wrote it."""
    annotation = text(live.annotations.get(LAST_APPLIED))
    if not annotation or not _was_written_by_argocd(live):
        return None
    try:
        body = yaml.load(annotation)
    except yaml.Invalid:
        return None
    if not isinstance(body, dict) or body.get("kind") != live.body.get("kind"):
        return None
    body = copy_object(body)
    meta = fields(body.get("metadata"))
    if not meta.get("annotations"):
        meta.pop("annotations", None)
    return body


def _was_written_by_argocd(live: Manifest) -> bool:
    """managedFields name the writer of the annotation; without them it is unknown."""
    path = ("fieldsV1", "f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
    writers = [
        text(fields(entry).get("manager"))
        for entry in items(live.meta.get("managedFields"))
        if isinstance(dig(entry, *path), dict)
    ]
    return bool(writers) and all(writer in _ARGOCD_MANAGERS for writer in writers)


def _is_of_the_compared_revision(app: Application) -> bool:
    compared = app.revisions
    operation = app.status.operation_state
    result = operation.sync_result if operation is not None else None
    if operation is not None and result is not None and operation.phase == "Succeeded":
        is_selective = operation.operation.sync is not None and operation.operation.sync.resources
        synced = result.revisions or ((result.revision,) if result.revision else ())
        if not is_selective:
            return bool(compared) and synced == compared
    last_entry = app.status.history[-1] if app.status.history else None
    if last_entry is None or operation is None or operation.phase != "Succeeded":
        return False
    return bool(compared) and (last_entry.revisions or (last_entry.revision,)) == compared


def _has_all_values(desired: Json, actual: Json) -> bool:
    """Does the live object have all desired values? Additional fields do not matter."""
    if isinstance(desired, dict):
        if not isinstance(actual, dict):
            return not desired and actual is None
        return all(_has_all_values(value, actual.get(key)) for key, value in desired.items())
    if isinstance(desired, list):
        if not isinstance(actual, list):
            return not desired and actual is None
        return len(desired) == len(actual) and all(map(_has_all_values, desired, actual))
    return desired == actual or (desired in (None, "") and actual in (None, ""))

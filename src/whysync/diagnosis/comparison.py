"""The comparison of a Case: its facts become the inputs of `argocd/compare`.

Facts are not a cluster. A bundle may lack live objects, rendered manifests, or the tracking marks that Argo
CD adds to both. What is missing is reported and not guessed: an object that Argo CD calls Synced and that the
facts lack was not provided, which is different from not existing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import ComparedResource, Comparison, Inputs
from whysync.argocd.compare.live_objects import LiveIndex, LiveState
from whysync.argocd.projects import Cluster
from whysync.argocd.projects.cluster_secrets import cluster_for
from whysync.argocd.projects.permissions import destination_verdict
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import instance_name, owner_of
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, ref_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


class NotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """Why an app cannot be compared, and how to get the facts for it."""

    problem: str
    next: str


def comparison_of(case: Case) -> Comparison | NotCompared:
    """Compare one app as Argo CD 3.6 does, as far as the facts allow."""
    inputs = inputs_of(case)
    return inputs if isinstance(inputs, NotCompared) else compare(inputs)


def would_be_written(case: Case, manifest: Manifest) -> bool:
    """Does this manifest differ from the live object, so that a sync would write it?"""
    inputs = inputs_of(case, (manifest,))
    if isinstance(inputs, NotCompared):
        return True
    compared = compare(msgspec.structs.replace(inputs, live=_OfTargets(inputs.live))).resources
    return any(resource.live is None or resource.is_modified for resource in compared)


def inputs_of(case: Case, desired: Sequence[Manifest] | None = None) -> Inputs | NotCompared:
    """The inputs of the comparison; `desired` replaces the manifests of the facts."""
    desired = case.desired if desired is None else desired
    if not desired:
        return NotCompared(
            problem="the facts have no rendered manifests of this app",
            next=f"add them as desired/{case.app.name}/: argocd app manifests {case.app.name} --source git",
        )
    world, settings = case.index, case.argocd
    cluster = cluster_for(case.app.spec.destination, world.clusters)
    index = world.live_index(cluster, case.app.spec.destination)
    if index is None:
        return NotCompared(
            problem="the facts have no live objects of its cluster",
            next="add them as live/: kubectl get … -o yaml --show-managed-fields",
        )
    control_plane = _control_plane(case)
    targets = [manifest.body for manifest in desired]
    marked = any(_owner(target, settings) for target in targets)
    if not marked and index.has_marks:
        # Argo CD marks everything that it renders; manifests rendered by hand have no marks.
        instance = instance_name(case.app.name, case.app.namespace, control_plane)
        targets = [_marked(target, case, instance) for target in targets]
        marked = True
    return Inputs(
        application=case.application.body,
        app=case.app,
        project=_project(case, cluster),
        settings=settings,
        targets=targets,
        live=index if marked else _WithRows(index, case),
        now=case.now,
        scopes=world.scopes,
        cluster=cluster,
        project_clusters=_clusters_of(case.app.project, world.clusters) or [cluster],
        control_plane_namespace=control_plane,
        revisions=case.app.revisions,
        marks_targets=marked,
        schemas=world.schemas,
    )


def is_not_provided(case: Case, resource: ComparedResource) -> bool:
    """Is one side not among the facts, although it exists according to Argo CD's own row?"""
    row = case.rows.get(resource.key)
    if row is None:
        return False
    if resource.target is None:
        return row.status == "Synced" and not row.requires_pruning
    health = row.health.status if row.health else ""
    return resource.live is None and (row.status == "Synced" or health not in ("", "Missing"))


def _clusters_of(project: str, clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters scoped to this project; the facts may lack them."""
    return [cluster for cluster in clusters if cluster.project == project]


def _project(case: Case, cluster: Cluster) -> AppProject | None:
    """The project that Argo CD compared with; `None` permits everything.

    With a project that does not permit the destination, Argo CD compares nothing. Rows with live objects were
    then compared with another project than the one among the facts.
    """
    project = case.effective_project
    if project is None:
        return None
    scoped = _clusters_of(case.app.project, case.index.clusters) or [cluster]
    permitted = destination_verdict(project, cluster, case.destination_namespace, scoped).permitted
    return project if permitted else None


def _control_plane(case: Case) -> str:
    """Argo CD's own namespace: from the app's status, else that of its settings, else that of the app."""
    reported = case.app.status.controller_namespace
    config = case.settings("argocd-cm")
    return reported or (config.ref.namespace if config else "") or case.app.namespace or "argocd"


def _owner(target: Object, settings: Settings) -> str:
    return owner_of(target, method=settings.tracking_method, label_key=settings.instance_label_key)


def _marked(target: Object, case: Case, instance: str) -> Object:
    try:
        return case.argocd.with_tracking(target, app=instance, namespace=case.destination_namespace)
    except ValueError:  # labels that are not a map: the comparison reports it
        return target


class _OfTargets:
    """Only the live objects of the targets, for a comparison of a few manifests of a large app."""

    def __init__(self, live: LiveState) -> None:
        self._live = live

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        managed = self._live.managed(instance, targets)
        keys = (ref_of(target).key for target in targets)
        return {key: managed[key] for key in keys if key in managed}


class _WithRows:
    """Live objects without tracking labels or annotations: the app's status lists its resources."""

    def __init__(self, index: LiveIndex, case: Case) -> None:
        self._index = index
        self._rows = [row.key for row in case.app.status.resources]

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        managed = self._index.managed(instance, targets)
        for key in self._rows:
            body = self._index.get(key)
            if body is not None:
                managed.setdefault(key, body)
        return managed

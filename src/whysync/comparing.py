"""From a Case to a comparison: finds among the facts what the engine asks for.

Facts are not a cluster: a bundle may lack live objects, rendered manifests, or the tracking marks that Argo
CD puts on both. What is not there is said, never guessed: an object that Argo CD calls Synced and that the
facts lack is *unseen*, not missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import ComparedResource, Comparison, Inputs
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveIndex
from whysync.argocd.projects import Cluster, effective_project
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import instance_name, owner_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.destination_clusters import cluster_for, known_clusters, where_live
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, group_of
from whysync.kubernetes.merge.structured import DEDUCED, Atom, Schemas

_CRD_GROUP, _CRD = "apiextensions.k8s.io", "CustomResourceDefinition"


class ComparedApp(msgspec.Struct, frozen=True, kw_only=True):
    """One app, compared; or why it could not be, in which case there is no comparison."""

    case: Case
    comparison: Comparison | None
    problem: str = ""
    next: str = ""

    def row(self, resource: ComparedResource) -> ResourceRow | None:
        """What Argo CD itself says of this resource."""
        return self.case.rows.get(resource.key)

    def is_unseen(self, resource: ComparedResource) -> bool:
        """One side is not among the facts, and by Argo CD's own row it exists."""
        row = self.row(resource)
        if row is None:
            return False
        if resource.target is None:
            return row.status == "Synced" and not row.requires_pruning
        health = row.health.status if row.health else ""
        return resource.live is None and (row.status == "Synced" or health not in ("", "Missing"))


class Comparer:
    """Indexes one world once, for all of its apps."""

    def __init__(self, world: SnapshotIndex) -> None:
        self._world = world

    def compare(self, case: Case) -> ComparedApp:
        inputs = self.inputs(case)
        if isinstance(inputs, str):
            problem, _, next = inputs.partition("; ")
            return ComparedApp(case=case, comparison=None, problem=problem, next=next)
        return ComparedApp(case=case, comparison=compare(inputs))

    def inputs(self, case: Case) -> Inputs | str:
        """What the engine wants to know, or why that cannot be had, and how it could."""
        if not case.desired:
            return (
                "the facts have no rendered manifests of this app; "
                f"add them as desired/{case.app.name}/: argocd app manifests {case.app.name} --source git"
            )
        cluster = self._cluster(case)
        index = self._index(case, cluster)
        if index is None:
            return (
                "the facts have no live objects of its cluster; "
                "add them as live/: kubectl get … -o yaml --show-managed-fields"
            )
        home = self._control_plane(case)
        targets = [manifest.body for manifest in case.desired]
        instance = instance_name(case.app.name, case.app.namespace, home)
        marked = self._is_marked(targets)
        if not marked and index.has_marks:
            targets = [self._marked(target, case, instance) for target in targets]
            marked = True
        return Inputs(
            application=case.application.body,
            app=case.app,
            project=self._project(case),
            settings=self.settings,
            targets=targets,
            live=index if marked else _WithRows(index, case),
            now=case.now,
            scopes=self._scopes,
            cluster=cluster,
            project_clusters=self._clusters_of(case.app.project) or [cluster],
            control_plane_namespace=home,
            revisions=case.app.revisions,
            marks_targets=marked,
            schemas=self._schemas,
        )

    # --- what all apps share ---------------------------------------------------------------------

    @cached_property
    def settings(self) -> Settings:
        maps = {
            setting.ref.name: setting.body
            for setting in self._world.snapshot.settings
            if setting.ref.kind == "ConfigMap"
        }
        return Settings.from_config_maps(maps.get("argocd-cm"), maps.get("argocd-cmd-params-cm"))

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes.from_objects(self._objects())

    def _objects(self) -> Iterator[Object]:
        snapshot = self._world.snapshot
        yield from (manifest.body for manifest in snapshot.live)
        for manifests in snapshot.desired.values():
            # Of Git only the definitions: its objects may leave their namespace out.
            yield from (manifest.body for manifest in manifests if _is_definition(manifest.body))

    @cached_property
    def _schemas(self) -> Schemas:
        return Definitions(body for body in self._objects() if _is_definition(body))

    @cached_property
    def _live(self) -> dict[str, list[Manifest]]:
        found: defaultdict[str, list[Manifest]] = defaultdict(list)
        for manifest in self._world.snapshot.live:
            found[manifest.cluster].append(manifest)
        return found

    @cached_property
    def _indexes(self) -> dict[str, LiveIndex]:
        return {}

    @cached_property
    def _projects(self) -> dict[str, AppProject]:
        decoded = (decode(project.body, AppProject)[0] for project in self._world.snapshot.projects)
        return {project.metadata.name: project for project in decoded if project is not None}

    @cached_property
    def _clusters(self) -> list[Cluster]:
        return known_clusters(self._world.snapshot.settings)

    # --- what one app needs ----------------------------------------------------------------------

    def _cluster(self, case: Case) -> Cluster:
        return cluster_for(case.app.spec.destination, self._clusters)

    def _clusters_of(self, project: str) -> list[Cluster]:
        """Those of the project alone; where none is known, nobody can tell that this one is not."""
        return [cluster for cluster in self._clusters if cluster.project == project]

    def _index(self, case: Case, cluster: Cluster) -> LiveIndex | None:
        found = where_live(cluster, case.app.spec.destination, self._live)
        if found is None:
            return None
        if found not in self._indexes:
            self._indexes[found] = LiveIndex(
                (live_object.body for live_object in self._live[found]), self.settings
            )
        return self._indexes[found]

    def _project(self, case: Case) -> AppProject | None:
        if case.project is None:
            return None
        return effective_project(case.project, self.settings.global_projects, self._projects)

    def _control_plane(self, case: Case) -> str:
        """Argo CD's own namespace: as the status says, else where its settings are, else where the app is."""
        told = case.app.status.controller_namespace
        config = next(
            (s.ref.namespace for s in self._world.snapshot.settings if s.ref.name == "argocd-cm"), ""
        )
        return told or config or case.app.namespace or "argocd"

    # --- tracking marks --------------------------------------------------------------------------

    def _is_marked(self, targets: Sequence[Object]) -> bool:
        """Argo CD marks all that it renders; what was rendered by hand has no mark."""
        method, label = self.settings.tracking_method, self.settings.instance_label_key
        return any(owner_of(target, method=method, label_key=label) for target in targets)

    def _marked(self, target: Object, case: Case, instance: str) -> Object:
        try:
            return self.settings.with_tracking(target, app=instance, namespace=case.destination_namespace)
        except ValueError:  # labels that are no map: the comparison will say so
            return target


class _WithRows:
    """Live objects without any marks: which are the app's, its own rows tell."""

    def __init__(self, index: LiveIndex, case: Case) -> None:
        self._index = index
        self._rows = [row.key for row in case.app.status.resources]

    def managed(self, instance: str, targets: Sequence[Object]) -> dict[Key, Object]:
        found = self._index.managed(instance, targets)
        for key in self._rows:
            body = self._index.get(key)
            if body is not None:
                found.setdefault(key, body)
        return found


class Definitions(Schemas):
    """The types of custom resources, read from their definitions when one of them is first asked for.

    Differs: Argo CD knows all types of its cluster. One that is not among the facts is compared by its shape.
    """

    def __init__(self, definitions: Iterable[Object]) -> None:
        super().__init__()
        self._unread: dict[tuple[str, str], Object] = {}
        for body in definitions:
            names = fields(dig(body, "spec", "names"))
            self._unread[text(dig(body, "spec", "group")), text(names.get("kind"))] = body

    def atom(self, api_version: str, kind: str) -> Atom:
        unread = self._unread.pop((group_of(api_version), kind), None)
        if unread is not None:
            self.add_definitions([unread])
        return super().atom(api_version, kind) or DEDUCED


def _is_definition(body: Object) -> bool:
    return body.get("kind") == _CRD and group_of(text(body.get("apiVersion"))) == _CRD_GROUP

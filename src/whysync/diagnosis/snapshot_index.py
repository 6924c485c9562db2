"""SnapshotIndex: a snapshot with lookups that all Cases share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

import msgspec

from whysync.argocd.api.application import Application, Destination
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveIndex
from whysync.argocd.ignore_differences.rules import Rule, system_rules
from whysync.argocd.projects import Cluster
from whysync.argocd.projects.cluster_secrets import (
    IN_CLUSTER,
    cluster_for,
    known_clusters,
)
from whysync.argocd.settings import Settings
from whysync.argocd.sync.request import is_definition
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.event import Event
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.merge.structured import Schemas
from whysync.kubernetes.merge.structured.schema import LazySchemas
from whysync.messages.benign import is_problem_reason
from whysync.messages.log_line import LogLine, parse_log_line

_CRD = "CustomResourceDefinition"
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_SUCCESS = re.compile(
    r"^(?:Partial )?[Ss]ync operation to \S{0,200} ?succeeded|\(phase: Succeeded\)|-> Synced$"
)
_ARGOCD_PODS = ("argocd-", "openshift-gitops-")


class FoundLine(NamedTuple):
    """A line of a log; `number` counts from 1."""

    log: Log
    number: int
    line: LogLine


class SnapshotIndex:
    """Lookups are built on first use and shared by all Applications."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.observed_images: set[str] | None = None
        """Images that run in the cluster; set by the first simulation that asks."""

    def close(self) -> bool:
        """Drop the decoded bodies of a large bundle; they are decoded again when they are needed.

        Is it a large bundle?
        """
        return self.snapshot.open_packs.close()

    def walk_live(self) -> Iterator[Manifest]:
        """All live objects, for a lookup that needs every body once."""
        open_packs = self.snapshot.open_packs
        before = len(open_packs)  # the bodies of the app that asks stay the same objects
        for manifest in self.snapshot.live:
            yield manifest
            open_packs.close_many(since=before)

    def with_settings(self, settings: tuple[Manifest, ...]) -> SnapshotIndex:
        """The same facts with other settings of Argo CD; existing lookups are kept."""
        other = SnapshotIndex(msgspec.structs.replace(self.snapshot, settings=settings))
        dependent = (
            "snapshot",
            "argocd",
            "system_ignore_rules",
            "_by_live_cluster",
        )  # what depends on the settings
        reused = {name: value for name, value in vars(self).items() if name not in dependent}
        vars(other).update(reused)
        return other

    @cached_property
    def decoded(self) -> tuple[tuple[Manifest, Application], ...]:
        """Every Application that could be decoded, sorted by name."""
        pairs = [(manifest, app) for manifest, app, _ in self._applications if app is not None and app.name]
        return tuple(sorted(pairs, key=lambda pair: (pair[1].name, pair[1].namespace)))

    @cached_property
    def _applications(self) -> list[tuple[Manifest, Application | None, tuple[str, ...]]]:
        """Every Application as a type, and what of it could not be decoded."""
        decoded: list[tuple[Manifest, Application | None, tuple[str, ...]]] = []
        for manifest in self.snapshot.applications:
            app, problems = decode(manifest.body, Application)
            decoded.append((manifest, app, tuple(problems)))
            self.snapshot.open_packs.close_many()
        return decoded

    def for_app(self, app: Application) -> SnapshotIndex:
        """The facts that concern one app: without the live objects of other clusters.

        Objects of the same name may exist on several clusters.
        """
        if len(self._live_clusters) < 2:
            return self
        destination = app.spec.destination
        cluster = cluster_for(destination, self.clusters)
        cluster_name = _live_objects_cluster(cluster, destination, self._live_clusters)
        if cluster_name not in self._by_live_cluster:
            self._by_live_cluster[cluster_name] = self._narrowed(cluster_name)
        return self._by_live_cluster[cluster_name]

    @cached_property
    def _live_clusters(self) -> frozenset[str]:
        return frozenset(manifest.cluster for manifest in self.snapshot.live)

    @cached_property
    def clusters(self) -> list[Cluster]:
        return known_clusters(self.snapshot.settings)

    @cached_property
    def _by_live_cluster(self) -> dict[str | None, SnapshotIndex]:
        return {}

    def _narrowed(self, cluster_name: str | None) -> SnapshotIndex:
        """Only one cluster, and Argo CD's own namespace."""
        snapshot = self.snapshot
        argocd_namespaces = {
            setting.ref.namespace for setting in snapshot.settings if setting.ref.kind == "ConfigMap"
        }
        hub = _live_objects_cluster(IN_CLUSTER, Destination(), self._live_clusters)

        def is_included(cluster: str, namespace: str) -> bool:
            return cluster == cluster_name or (cluster == hub and namespace in argocd_namespaces)

        narrowed = SnapshotIndex(
            msgspec.structs.replace(
                snapshot,
                live=tuple(
                    live_object
                    for live_object in snapshot.live
                    if is_included(live_object.cluster, live_object.ref.namespace)
                ),
                events=tuple(
                    event
                    for event in snapshot.events
                    if not event.cluster or is_included(event.cluster, event.ref.namespace)
                ),
                logs=tuple(
                    log for log in snapshot.logs if not log.cluster or is_included(log.cluster, log.namespace)
                ),
            )
        )
        narrowed.decoded, narrowed.now = self.decoded, self.now
        return narrowed

    @cached_property
    def apps_by_name(self) -> dict[str, tuple[Manifest, Application]]:
        """By bare name; of several, the first."""
        by_name: dict[str, tuple[Manifest, Application]] = {}
        for manifest, app in self.decoded:
            by_name.setdefault(app.name, (manifest, app))
        return by_name

    @cached_property
    def live_by_namespace(self) -> dict[str, list[Manifest]]:
        by_namespace: dict[str, list[Manifest]] = defaultdict(list)
        for manifest in self.snapshot.live:
            by_namespace[manifest.ref.namespace].append(manifest)
        return by_namespace

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What could not be read, and parts of Applications that cannot be decoded."""
        unread: list[Gap] = []
        for manifest, app, problems in self._applications:
            name = app.name if app is not None else manifest.ref.name or "(no name)"
            for problem in problems:
                unread.append(
                    Gap(
                        kind=GapKind.UNREADABLE,
                        what=f"part of Application {name}",
                        why=problem,
                        how_to_get="collect the Application again, as kubectl get prints it with -o yaml",
                    )
                )
        return (*self.snapshot.gaps, *unread)

    @cached_property
    def argocd(self) -> Settings:
        """Argo CD's settings from its ConfigMaps, or its defaults if these are not available."""
        by_name = {manifest.ref.name: manifest.body for manifest in self.snapshot.settings}
        return Settings.from_config_maps(by_name.get("argocd-cm"), by_name.get("argocd-cmd-params-cm"))

    @cached_property
    def system_ignore_rules(self) -> tuple[Rule, ...]:
        """The ignore rules in argocd-cm, and those that Argo CD has for all apps."""
        return tuple(system_rules(self.argocd.overrides))

    # --- for comparisons -------------------------------------------------------------------------

    def live_index(self, cluster: Cluster, destination: Destination) -> LiveIndex | None:
        """The live objects of one cluster; `None` if the facts have none."""
        cluster_name = _live_objects_cluster(cluster, destination, self._live_clusters)
        if cluster_name is None:
            return None
        settings = self.argocd
        tracking = settings.tracking_method, settings.instance_label_key, settings.installation_id
        index = self._live_indexes.get((cluster_name, tracking))
        if index is None:
            objects = (manifest for manifest in self.walk_live() if manifest.cluster == cluster_name)
            index = self._live_indexes[cluster_name, tracking] = LiveIndex(objects, settings)
        return index

    @cached_property
    def _live_indexes(self) -> dict[tuple[str, tuple[str, str, str]], LiveIndex]:
        return {}

    @cached_property
    def scopes(self) -> Scopes:
        crds = (manifest.body for manifest in self.live_by_kind.get(_CRD, ()))
        others = {(key.group, key.kind, bool(key.namespace)) for key in self.live_by_key if key.kind != _CRD}
        examples: list[Object] = [
            {"apiVersion": f"{group}/", "kind": kind, "metadata": {"namespace": "any" if namespaced else ""}}
            for group, kind, namespaced in others
        ]
        return Scopes.from_objects([*crds, *examples, *self._definitions_in_git])

    @cached_property
    def schemas(self) -> Schemas:
        live = (manifest.body for manifest in self.live_by_kind.get(_CRD, ()))
        return LazySchemas([*filter(is_definition, live), *self._definitions_in_git])

    @cached_property
    def _definitions_in_git(self) -> tuple[Object, ...]:
        every = (manifest for manifests in self.snapshot.desired.values() for manifest in manifests)
        crds = (manifest.body for manifest in every if manifest.ref.kind == _CRD)
        return tuple(filter(is_definition, crds))

    @cached_property
    def projects_by_name(self) -> dict[str, AppProject]:
        decoded = (decode(project.body, AppProject)[0] for project in self.snapshot.projects)
        return {project.metadata.name: project for project in decoded if project is not None}

    # --- look-ups --------------------------------------------------------------------------------

    @cached_property
    def live_by_key(self) -> dict[Key, list[Manifest]]:
        return _by_key(self.snapshot.live)

    @cached_property
    def live_by_kind(self) -> dict[str, list[Manifest]]:
        """By kind alone, in the order of the facts."""
        by_kind: dict[str, list[Manifest]] = defaultdict(list)
        for manifest in self.snapshot.live:
            by_kind[manifest.ref.kind].append(manifest)
        return by_kind

    @cached_property
    def live_names(self) -> dict[tuple[str, str], set[str]]:
        """The names of live objects by kind and namespace."""
        names: dict[tuple[str, str], set[str]] = defaultdict(set)
        for key in self.live_by_key:
            names[key.kind, key.namespace].add(key.name)
        return names

    @cached_property
    def live_keys_by_name(self) -> dict[str, list[Key]]:
        by_name: dict[str, list[Key]] = defaultdict(list)
        for key in self.live_by_key:
            by_name[key.name].append(key)
        return by_name

    @cached_property
    def autoscalers(self) -> dict[tuple[str, str], list[Manifest]]:
        """Autoscalers (HPAs, KEDA ScaledObjects, other `*Autoscaler` kinds) by namespace and target name.

        One without a target (a truncated dump) is assumed to scale the workload of its own name.
        """
        by_target: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
        for kind, manifests in self.live_by_kind.items():
            if kind.endswith("Autoscaler") or kind == "ScaledObject":
                for manifest in manifests:
                    target = fields(manifest.spec.get("scaleTargetRef") or manifest.spec.get("targetRef"))
                    scaled = text(target.get("name")) or manifest.ref.name
                    by_target[manifest.ref.namespace, scaled].append(manifest)
        return by_target

    @cached_property
    def being_deleted(self) -> tuple[Manifest, ...]:
        """Live objects with a deletion timestamp."""
        return tuple(manifest for manifest in self.snapshot.live if manifest.is_being_deleted)

    @cached_property
    def children_by_owner(self) -> dict[tuple[str, str, str], list[Manifest]]:
        """Live objects by (namespace, owner kind, owner name)."""
        by_owner: dict[tuple[str, str, str], list[Manifest]] = defaultdict(list)
        for manifest in self.snapshot.live:
            for kind, name in manifest.owners:
                by_owner[manifest.ref.namespace, kind, name].append(manifest)
        return by_owner

    @cached_property
    def events_by_object(self) -> dict[tuple[str, str, str], list[tuple[Manifest, Event]]]:
        """Events by (namespace, kind, name) of what they are about, oldest first."""
        by_object: dict[tuple[str, str, str], list[tuple[Manifest, Event]]] = defaultdict(list)
        for manifest, event in self.events:
            about = event.about
            by_object[about.namespace or manifest.ref.namespace, about.kind, about.name].append(
                (manifest, event)
            )
        return by_object

    @cached_property
    def trouble_events_by_namespace(self) -> dict[str, list[tuple[Manifest, Event]]]:
        """Events that report a problem, by the namespace of the object that they are about; oldest first."""
        by_namespace: dict[str, list[tuple[Manifest, Event]]] = defaultdict(list)
        for manifest, event in self.events:
            if event.type != "Normal" or is_problem_reason(event.reason):
                by_namespace[event.about.namespace or manifest.ref.namespace].append((manifest, event))
        return by_namespace

    @cached_property
    def events(self) -> tuple[tuple[Manifest, Event], ...]:
        decoded = ((manifest, decode(manifest.body, Event)[0]) for manifest in self.snapshot.events)
        pairs = [(manifest, event) for manifest, event in decoded if event is not None]
        return tuple(sorted(pairs, key=lambda pair: (pair[1].seen_at or LONG_AGO, pair[0].ref)))

    @cached_property
    def logs_by_pod(self) -> dict[tuple[str, str], list[Log]]:
        by_pod: dict[tuple[str, str], list[Log]] = defaultdict(list)
        for log in self.snapshot.logs:
            by_pod[log.namespace, log.pod].append(log)
        return by_pod

    @cached_property
    def logs_by_namespace(self) -> dict[str, list[Log]]:
        by_namespace: dict[str, list[Log]] = defaultdict(list)
        for log in self.snapshot.logs:
            by_namespace[log.namespace].append(log)
        return by_namespace

    @cached_property
    def argocd_log_lines(self) -> dict[str, list[FoundLine]]:
        """The lines of Argo CD's logs that report a problem, by the Application they name; "" if none.

        A later line of the same log may report that a sync of that Application succeeded: then it is over.
        """
        by_app: dict[str, list[FoundLine]] = defaultdict(list)
        for log in self.snapshot.logs:
            if log.pod.startswith(_ARGOCD_PODS):
                for number, raw in enumerate(log.lines, start=1):
                    line = parse_log_line(raw)
                    if line.is_loud:
                        by_app[line.application].append(FoundLine(log, number, line))
                    elif line.application and _SUCCESS.search(line.text):
                        earlier = by_app[line.application]
                        by_app[line.application] = [entry for entry in earlier if entry.log is not log]
        return by_app

    @cached_property
    def now(self) -> datetime:
        """The time of collection; if unknown, the latest time in the facts."""
        return self.snapshot.collected_at or max(self._instants(), default=LONG_AGO)

    def _instants(self) -> Iterator[datetime]:
        for _, app in self.decoded:
            status = app.status
            instants = [status.reconciled_at, status.health.last_transition_time]
            instants += [condition.last_transition_time for condition in status.conditions]
            if status.operation_state:
                instants += [status.operation_state.started_at, status.operation_state.finished_at]
            yield from (instant for instant in instants if instant)
        yield from (event.seen_at for _, event in self.events if event.seen_at)


def _by_key(manifests: tuple[Manifest, ...]) -> dict[Key, list[Manifest]]:
    by_key: dict[Key, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        by_key[manifest.key].append(manifest)
    return by_key


def _live_objects_cluster(
    cluster: Cluster, destination: Destination, cluster_names: Collection[str]
) -> str | None:
    """The name under which the facts have the cluster's live objects; `None` if they have none.

    A bundle of several clusters has a folder of live objects per name.
    """
    names = (cluster.name, cluster.server, destination.name, "")
    return next((name for name in names if name in cluster_names), None)

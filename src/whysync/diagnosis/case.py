"""Case: the facts about one Application at one point in time, with lookups for rules.

A Case is immutable and computes on demand. `now` and the version of Argo CD are part of the facts, so the
same facts always give the same results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

import msgspec

from whysync.argocd.api.application import Application, OperationState, ResourceResult, ResourceRow
from whysync.argocd.api.git_head import Head
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.health.assess import health_of
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks import HELM_HOOK, HOOK
from whysync.argocd.ignore_differences import BadRule, Normalizer
from whysync.argocd.projects import effective_project, global_projects_of
from whysync.argocd.repo_server.git_url import repository_key
from whysync.argocd.settings import GlobalProject, Settings
from whysync.argocd.tracking.method import METHOD_SETTING, TRACKING_ID, TrackingMethod
from whysync.diagnosis.comparison import NotCompared, comparison_of
from whysync.diagnosis.drift import Drift, drifts_of
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.failures import ReportedFailure, reported_failures_of
from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.object_states import ObjectState, object_states_of
from whysync.diagnosis.owning_resource import owning_row
from whysync.diagnosis.pods import PodHistory, pod_histories
from whysync.diagnosis.reported_texts import ReportedText, reported_texts_of
from whysync.diagnosis.rule import Fact
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import Symptom, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import symptoms_of
from whysync.facts.snapshot import Gap, Rendering
from whysync.json_tree import fields
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.event import Event
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.failure import Failure
from whysync.messages.patterns.operations import AutosyncWipeRefused

F = TypeVar("F", bound=Failure)


class DesiredResource(NamedTuple):
    """A desired object with Argo CD's key, its row and its live object."""

    manifest: Manifest
    key: Key
    keys: frozenset[Key]
    """Also the key of the manifest, which may lack the namespace."""
    row: ResourceRow | None
    live: Manifest | None
    is_hook: bool


class RowObjects(NamedTuple):
    """A row of `status.resources` with the objects that it stands for."""

    row: ResourceRow
    key: Key
    desired: Manifest | None
    live: Manifest | None


class Case:
    def __init__(self, index: SnapshotIndex, application: Manifest, app: Application) -> None:
        self.index = index.for_app(app)
        self.application = application
        self.app = app

    def forget(self) -> None:
        """Drop what was computed: in a large fleet, most Cases are not needed again."""
        for name in vars(self).keys() - {"index", "application", "app"}:
            del vars(self)[name]

    # --- the facts -------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.index.now

    @property
    def instance(self) -> str:
        """The Argo CD instance of the app, if the facts are those of several; otherwise empty."""
        return self.index.snapshot.instance

    @property
    def qualified_name(self) -> str:
        """`namespace/name`, after the instance if there are several: the name is unique in a report."""
        name = self.app.qualified_name
        return f"{self.instance}/{name}" if self.instance else name

    @property
    def is_predicted(self) -> bool:
        """Is it the state that a commit would lead to? Then findings say what would happen."""
        return self.index.snapshot.is_predicted

    @property
    def argocd_version(self) -> str:
        return self.index.snapshot.argocd_version

    @property
    def argocd_release(self) -> tuple[int, ...]:
        """The version of Argo CD as numbers, such as `(3, 6, 0)`; empty if it is not known."""
        plain = self.argocd_version.removeprefix("v").partition("+")[0].partition("-")[0].split(".")
        return tuple(map(int, plain)) if all(part.isdecimal() and len(part) < 6 for part in plain) else ()

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return self.index.gaps

    @cached_property
    def desired(self) -> tuple[Manifest, ...]:
        return self.index.snapshot.desired.get(self.app.qualified_name, ())

    @property
    def rendering(self) -> Rendering | None:
        """Where whysync rendered the manifests from; `None` if it did not."""
        name = self.app.qualified_name
        return next((one for one in self.index.snapshot.renderings if one.app == name), None)

    @cached_property
    def source_is_empty(self) -> bool:
        """Does Argo CD report an empty source? Then missing manifests are not a gap."""
        return not self.desired and bool(self.failures(AutosyncWipeRefused))

    @cached_property
    def desired_is_marked(self) -> bool:
        """Do the manifests have Argo CD's tracking ids, as those rendered by Argo CD do?"""
        return any(TRACKING_ID in manifest.annotations for manifest in self.desired)

    @cached_property
    def desired_by_key(self) -> dict[Key, Manifest]:
        """By the key that Argo CD uses: a manifest without a namespace is in the destination's."""
        by_key: dict[Key, Manifest] = {}
        for manifest in self.desired:
            by_key[manifest.key] = manifest
            if not manifest.ref.namespace:
                by_key.setdefault(manifest.key._replace(namespace=self.destination_namespace), manifest)
        return by_key

    @cached_property
    def desired_resources(self) -> tuple[DesiredResource, ...]:
        return tuple(map(self._desired_resource, self.desired))

    def _desired_resource(self, manifest: Manifest) -> DesiredResource:
        key = own = manifest.key
        if not key.namespace and key not in self.rows:  # rows of cluster-scoped objects have no namespace
            key = key._replace(namespace=self.destination_namespace)
        return DesiredResource(
            manifest=manifest,
            key=key,
            keys=frozenset((key, own)),
            row=self.rows.get(key) or self.rows.get(key._replace(namespace="")),
            live=self.live_of(key),
            is_hook=not manifest.annotations.keys().isdisjoint((HOOK, HELM_HOOK)),
        )

    @property
    def destination_namespace(self) -> str:
        return self.app.spec.destination.namespace

    @cached_property
    def project_manifest(self) -> Manifest | None:
        named = [p for p in self.index.snapshot.projects if p.ref.name == self.app.project]
        return next((p for p in named if p.ref.namespace == self.app.namespace), named[0] if named else None)

    @cached_property
    def project(self) -> AppProject | None:
        return decode(self.project_manifest.body, AppProject)[0] if self.project_manifest else None

    @cached_property
    def effective_project(self) -> AppProject | None:
        """The project with the lists that it inherits from global projects: these decide."""
        return effective_project(self.project, *self._inheritance) if self.project is not None else None

    @cached_property
    def global_projects(self) -> tuple[AppProject, ...]:
        """The projects that the Application's project inherits lists from."""
        return global_projects_of(self.project, *self._inheritance) if self.project is not None else ()

    @property
    def _inheritance(self) -> tuple[tuple[GlobalProject, ...], Mapping[str, AppProject]]:
        return self.argocd.global_projects, self.index.projects_by_name

    def settings(self, name: str) -> Manifest | None:
        """One of Argo CD's ConfigMaps, such as `argocd-cm`."""
        return next((s for s in self.index.snapshot.settings if s.ref.name == name), None)

    @cached_property
    def may_track_by_label(self) -> bool:
        """May Argo CD mark objects with the instance label? Without a setting, it does so before 3.0."""
        config = self.settings("argocd-cm")
        method = TrackingMethod.parse(self.argocd.tracking_method)
        is_set = config is not None and bool(fields(config.body.get("data")).get(METHOD_SETTING))
        is_known = is_set or (config is not None and self.argocd_release >= (3,))
        return method is not TrackingMethod.ANNOTATION or not is_known

    @cached_property
    def argocd(self) -> Settings:
        """Argo CD's settings from its ConfigMaps, or its defaults if these are not available."""
        return self.index.argocd

    @cached_property
    def own_ignore_rules(self) -> Normalizer | None:
        """The ignore rules of the Application itself, without those of argocd-cm."""
        try:
            return Normalizer.build(self.app.spec.ignore_differences)
        except BadRule:
            return None

    def health_of(self, manifest: Manifest) -> HealthVerdict | None:
        """The health that Argo CD would report for this object; `None` if it has no health check."""
        known = self._health.get(id(manifest))
        if known is None:
            verdict = health_of(manifest.body, self.argocd.overrides, now=self.now.timestamp())
            known = self._health[id(manifest)] = (manifest, verdict)
        return known[1]

    @cached_property
    def _health(self) -> dict[int, tuple[Manifest, HealthVerdict | None]]:
        """By identity; the manifest is kept, so that no other object gets the same one."""
        return {}

    def has(self, fact: Fact) -> bool:
        snapshot = self.index.snapshot
        match fact:
            case Fact.APPLICATION:
                return True
            case Fact.DESIRED:
                return bool(self.desired) or self.source_is_empty
            case Fact.LIVE:
                return bool(snapshot.live)
            case Fact.EVENTS:
                return bool(snapshot.events)
            case Fact.LOGS:
                return bool(snapshot.logs)
            case Fact.PROJECT:
                return self.project is not None
            case Fact.SETTINGS:
                return self.settings("argocd-cm") is not None
            case Fact.POLICY:
                return self.settings("argocd-rbac-cm") is not None
            case Fact.GIT:
                return bool(snapshot.heads)

    # --- status of the Application ---------------------------------------------------------------

    @property
    def operation(self) -> OperationState | None:
        return self.app.status.operation_state

    @cached_property
    def rows(self) -> dict[Key, ResourceRow]:
        return {row.key: row for row in self.app.status.resources}

    @cached_property
    def row_objects(self) -> tuple[RowObjects, ...]:
        """All rows in their order, for rules that look at every object."""
        return tuple(
            RowObjects(row, key, self.desired_of(key), self.live_of(key))
            for row in self.app.status.resources
            for key in (row.key,)
        )

    @cached_property
    def rows_without_manifest(self) -> tuple[ResourceRow, ...]:
        """Rows to be pruned, and rows whose manifest is not in the facts."""
        rows = self.app.status.resources
        return tuple(row for row in rows if not row.hook and self.desired_of(row.key) is None)

    @cached_property
    def results(self) -> tuple[ResourceResult, ...]:
        result = self.operation.sync_result if self.operation else None
        return result.resources if result else ()

    @cached_property
    def result_keys(self) -> frozenset[Key]:
        return frozenset(result.key for result in self.results)

    @property
    def is_automated(self) -> bool:
        automated = self.app.spec.sync_policy.automated
        return automated is not None and automated.enabled is not False

    @property
    def self_heals(self) -> bool:
        automated = self.app.spec.sync_policy.automated
        return self.is_automated and automated is not None and automated.self_heal

    @property
    def prunes(self) -> bool:
        automated = self.app.spec.sync_policy.automated
        return self.is_automated and automated is not None and automated.prune

    @property
    def synced_recently(self) -> bool:
        """Less than 600 s ago, the default progress deadline of a Deployment: a rollout may still be
        running."""
        operation = self.operation
        age = self.age(operation.finished_at or operation.started_at) if operation is not None else None
        return age is not None and age < timedelta(seconds=600)

    @property
    def being_deleted_for(self) -> timedelta | None:
        """How long the Application itself has been terminating."""
        return self.age(self.app.metadata.deletion_timestamp)

    def has_sync_option(self, option: str) -> bool:
        return option in self.app.spec.sync_policy.sync_options

    def age(self, instant: datetime | None) -> timedelta | None:
        return None if instant is None else self.now - instant

    # --- the objects -----------------------------------------------------------------------------

    def live_of(self, key: Key) -> Manifest | None:
        """The live object with this key; one without a namespace may be in the destination's."""
        by_key = self.index.live_by_key
        copies = by_key.get(key)
        if not copies:
            namespaces = (self.destination_namespace, "")
            candidates = (by_key.get(key._replace(namespace=namespace)) for namespace in namespaces)
            copies = next(filter(None, candidates), ())
        if not copies and key in self._manifests_elsewhere:
            copies = by_key.get(self._manifests_elsewhere[key].key, ())
        return copies[0] if copies else None

    def desired_of(self, key: Key) -> Manifest | None:
        desired = self.desired_by_key.get(key) or self.desired_by_key.get(key._replace(namespace=""))
        if desired is None and not key.namespace:
            desired = self.desired_by_key.get(key._replace(namespace=self.destination_namespace))
        return desired or self._manifests_elsewhere.get(key)

    @cached_property
    def _manifests_elsewhere(self) -> dict[Key, Manifest]:
        """The manifest of a row that none has, if one of the same kind and name lacks a row.

        Every manifest of the app has a row, so the two belong together: facts that were copied together can
        give different namespaces for one resource.
        """
        without_row: dict[Key, list[Manifest]] = {}
        for manifest in self.desired:
            if manifest.ref.namespace and manifest.key not in self.rows:
                without_row.setdefault(manifest.key._replace(namespace=""), []).append(manifest)
        if not without_row:
            return {}
        known = (self.desired_by_key, self.index.live_by_key)
        unknown = [key for key in self.rows if key.namespace and not any(key in objects for objects in known)]
        names = Counter(key._replace(namespace="") for key in unknown)
        candidates = {key: without_row.get(key._replace(namespace=""), []) for key in unknown}
        return {
            key: found[0]
            for key, found in candidates.items()
            if len(found) == 1 and names[key._replace(namespace="")] == 1
        }

    def as_in_row(self, ref: Ref) -> Ref:
        """The ref as in the app's resources: sync results set the destination's namespace on cluster-scoped
        refs."""
        bare = ref.key._replace(namespace="")
        if ref.namespace and ref.key not in self.rows and bare in self.rows:
            return msgspec.structs.replace(ref, namespace="")
        return ref

    def live_named(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """The live object by kind and name, for messages that do not contain the API group."""
        for key in self.index.live_keys_by_name.get(name, ()):
            if key.kind == kind and key.namespace in ("", namespace):
                return self.index.live_by_key[key][0]
        return None

    def live_of_kind(self, *kinds: str) -> tuple[Manifest, ...]:
        """All live objects of these kinds, in all namespaces."""
        return tuple(manifest for kind in kinds for manifest in self.index.live_by_kind.get(kind, ()))

    def owned_by(self, ref: Ref) -> tuple[Manifest, ...]:
        return tuple(self.index.children_by_owner.get((ref.namespace, ref.kind, ref.name), ()))

    def is_application(self, ref: Ref) -> bool:
        """Is it the Application itself? Events may omit the API group."""
        own = self.application.ref
        return (ref.kind, ref.namespace, ref.name) == (own.kind, own.namespace, own.name)

    def concerns(self, ref: Ref) -> bool:
        """Is this object the app, a resource of it, owned by one, or named after one?

        If the facts have only one Application, unknown objects in its namespace also count.
        """
        if self.is_application(ref):
            return True
        live = self.live_named(ref.kind, ref.namespace, ref.name)
        if live is not None and owning_row(self, live) is not None:
            return True
        alone = len(self.index.decoded) == 1 and ref.namespace in ("", self.destination_namespace)
        if alone and live is None:
            return True
        return any(
            ref.namespace == row.namespace
            and (ref.name == row.name if ref.kind == row.kind else ref.name.startswith(f"{row.name}-"))
            for row in self.app.status.resources
        )

    def events_about(self, ref: Ref) -> tuple[tuple[Manifest, Event], ...]:
        return tuple(self.index.events_by_object.get((ref.namespace, ref.kind, ref.name), ()))

    def logs_of(self, ref: Ref) -> tuple[Log, ...]:
        return tuple(self.index.logs_by_pod.get((ref.namespace, ref.name), ()))

    def pods_of(self, ref: Ref) -> tuple[PodHistory, ...]:
        """The Pods of a workload with the states of their containers; those with most failures first."""
        return pod_histories(self, ref)

    def autoscaler_of(self, ref: Ref) -> Manifest | None:
        """The live object that scales this workload: an HPA, a KEDA ScaledObject, another `*Autoscaler`."""
        for manifest in self.index.autoscalers.get((ref.namespace, ref.name), ()):
            target = fields(manifest.spec.get("scaleTargetRef") or manifest.spec.get("targetRef"))
            if target.get("kind", ref.kind) == ref.kind:
                return manifest
        return None

    # --- derived ---------------------------------------------------------------------------------

    @cached_property
    def reported_texts(self) -> tuple[ReportedText, ...]:
        """Every text in which Argo CD or Kubernetes reports a problem; see `reported_texts_of` for the
        order."""
        return tuple(reported_texts_of(self))

    @cached_property
    def object_states(self) -> tuple[ObjectState, ...]:
        return tuple(object_states_of(self))

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        return symptoms_of(self)

    @cached_property
    def symptoms_by_id(self) -> dict[SymptomId, Symptom]:
        return {symptom.id: symptom for symptom in self.symptoms}

    @cached_property
    def symptom_ids(self) -> frozenset[SymptomId]:
        return frozenset(symptom.id for symptom in self.symptoms)

    def rows_with(self, kind: SymptomKind) -> tuple[ResourceRow, ...]:
        """The rows that have a symptom of this kind, such as UNHEALTHY or DIFFERS."""
        return self._rows_by_symptom.get(kind, ())

    @cached_property
    def _rows_by_symptom(self) -> dict[SymptomKind, tuple[ResourceRow, ...]]:
        return {
            kind: tuple(
                row for row in self.app.status.resources if SymptomId(kind, row.key) in self.symptom_ids
            )
            for kind in dict.fromkeys(symptom.kind for symptom in self.symptoms)
        }

    @cached_property
    def comparison(self) -> Comparison | NotCompared:
        """The result of comparing as Argo CD 3.6 does, independent of the app's status."""
        return comparison_of(self)

    def compared(self, key: Key) -> ComparedResource | None:
        """The comparison of one resource; an object without a namespace may be in the destination's."""
        namespaces = (key.namespace, self.destination_namespace, "")
        candidates = (key._replace(namespace=namespace) for namespace in namespaces)
        return next((self._compared[other] for other in candidates if other in self._compared), None)

    @cached_property
    def _compared(self) -> dict[Key, ComparedResource]:
        comparison = self.comparison
        if isinstance(comparison, NotCompared):
            return {}
        return {resource.key: resource for resource in comparison.resources}

    @cached_property
    def drifts(self) -> tuple[Drift, ...]:
        """The differing fields of all resources that Argo CD reports as OutOfSync."""
        return drifts_of(self)

    def drifts_at(self, pointer: str) -> tuple[Drift, ...]:
        return tuple(drift for drift in self.drifts if drift.pointer == pointer)

    def drifts_by(self, mechanism: Mechanism) -> tuple[Drift, ...]:
        return self._drifts_by_mechanism.get(mechanism, ())

    def drifts_by_object(self, mechanism: Mechanism) -> tuple[tuple[Drift, ...], ...]:
        """The differing fields that this mechanism explains, one group per object."""
        groups: dict[Key, list[Drift]] = {}
        for drift in self.drifts_by(mechanism):
            groups.setdefault(drift.ref.key, []).append(drift)
        return tuple(tuple(drifts) for drifts in groups.values())

    @cached_property
    def _drifts_by_mechanism(self) -> dict[Mechanism, tuple[Drift, ...]]:
        by_mechanism: dict[Mechanism, tuple[Drift, ...]] = {}
        for drift in self.drifts:
            mechanism = mechanism_of(self, drift)
            by_mechanism[mechanism] = (*by_mechanism.get(mechanism, ()), drift)
        return by_mechanism

    @cached_property
    def reported_failures(self) -> tuple[ReportedFailure[Failure], ...]:
        """Every recognized failure, each once, with all texts that report it."""
        return reported_failures_of(self)

    @cached_property
    def confidence_of_texts(self) -> dict[tuple[Ref, str], Confidence]:
        """The highest confidence of a finding that cites a text, by the text's object and pointer."""
        cited = ((reported.cite(says=""), reported.confidence) for reported in self.reported_failures)
        return {(evidence.ref, evidence.pointer): confidence for evidence, confidence in cited}

    def failures(self, kind: type[F]) -> tuple[ReportedFailure[F], ...]:
        return tuple(
            cast("ReportedFailure[F]", r) for r in self.reported_failures if isinstance(r.failure, kind)
        )

    def cited_row(self, row: ResourceRow, *, says: str) -> Evidence:
        """A row of the Application's resource list, as evidence."""
        return cite(self.application, f"/status/resources/{self.app.status.resources.index(row)}", says=says)

    def cited_health(self, row: ResourceRow, code: str) -> Evidence:
        """The health in the row; without it, the status of the object that the health check reads.

        Argo CD 3 keeps the health of resources outside the Application, unless it is set to keep it there.
        """
        live = self.live_of(row.key)
        if row.health is not None and row.health.message:
            pointer = f"/status/resources/{self.app.status.resources.index(row)}/health/message"
            return cite(self.application, pointer, says=f"Argo CD reports it as {code}")
        if row.health is not None or live is None:
            return self.cited_row(row, says=f"Argo CD reports it as {code}")
        return cite(live, "/status", says=f"its status, in which Argo CD's check sees {code}")

    def compared_with(self, index: int) -> bool:
        """Did Argo CD last compare with the repository of this source? True if unknown."""
        compared = self.app.status.sync.compared_to
        if compared is None:
            return True
        sources = compared.sources or ((compared.source,) if compared.source else ())
        repo = sources[index].repo_url if index < len(sources) else ""
        return not repo or same_repo(repo, self.app.sources[index].repo_url)

    def head_of(self, repo: str, revision: str) -> Head | None:
        for head in self.index.snapshot.heads:
            if same_repo(head.repo, repo) and head.revision == (revision or "HEAD"):
                return head
        return None


def same_repo(one: str, other: str) -> bool:
    return repository_key(one) == repository_key(other)

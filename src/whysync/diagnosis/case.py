"""All that is known of one Application at one instant. Rules ask it questions by name.

A Case is never changed: what it answers follows from the facts that it was made of. `now` and the
version of Argo CD are among them, so the same facts give the same answers at any time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar, cast

import msgspec

from whysync.argocd.api.application import Application, OperationState, ResourceResult, ResourceRow
from whysync.argocd.api.git_head import Head
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.health.assess import health_of
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.ignore_differences import BadRule, Normalizer
from whysync.argocd.repo_server.git_url import repository_key
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import TRACKING_ID
from whysync.diagnosis.comparison import NotCompared, comparison_of
from whysync.diagnosis.drift import Drift, drifts_of
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.failures import ReportedFailure, reported_failures_of
from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.owning_resource import owning_row
from whysync.diagnosis.pods import PodHistory, pod_histories
from whysync.diagnosis.reported_texts import ReportedText, reported_texts_of
from whysync.diagnosis.rule import Fact
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import Symptom, SymptomId
from whysync.diagnosis.symptoms import symptoms_of
from whysync.facts.snapshot import Gap
from whysync.json_tree import fields
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.event import Event
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.failure import Failure
from whysync.messages.patterns.operations import AutosyncWipeRefused

F = TypeVar("F", bound=Failure)


class Case:
    def __init__(self, index: SnapshotIndex, application: Manifest, app: Application) -> None:
        self.index = index.for_app(app)
        self.application = application
        self.app = app

    # --- the facts -------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.index.now

    @property
    def argocd_version(self) -> str:
        return self.index.snapshot.argocd_version

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return self.index.gaps

    @cached_property
    def desired(self) -> tuple[Manifest, ...]:
        return self.index.snapshot.desired.get(self.app.qualified_name, ())

    @cached_property
    def source_is_empty(self) -> bool:
        """Argo CD itself says that the source is empty: then no manifests are all there is to know."""
        return not self.desired and bool(self.failures(AutosyncWipeRefused))

    @cached_property
    def desired_is_marked(self) -> bool:
        """Do the rendered manifests carry Argo CD's tracking ids, as those that it rendered itself do?"""
        return any(TRACKING_ID in manifest.annotations for manifest in self.desired)

    @cached_property
    def desired_by_key(self) -> dict[Key, Manifest]:
        """Under the key that Argo CD gives them: without a namespace of their own, the destination's."""
        found: dict[Key, Manifest] = {}
        for manifest in self.desired:
            found[manifest.key] = manifest
            if not manifest.ref.namespace:
                found.setdefault(manifest.key._replace(namespace=self.destination_namespace), manifest)
        return found

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

    def settings(self, name: str) -> Manifest | None:
        """One of Argo CD's ConfigMaps, such as `argocd-cm`."""
        return next((s for s in self.index.snapshot.settings if s.ref.name == name), None)

    @cached_property
    def argocd(self) -> Settings:
        """What Argo CD is told by its ConfigMaps; its defaults where they are not at hand."""
        return self.index.argocd

    @cached_property
    def own_ignore_rules(self) -> Normalizer | None:
        """The Application's own ignore rules alone."""
        try:
            return Normalizer.build(self.app.spec.ignore_differences)
        except BadRule:
            return None

    def health_of(self, manifest: Manifest) -> HealthVerdict | None:
        """How healthy Argo CD would call this object; `None` where it has no opinion."""
        return health_of(manifest.body, self.argocd.overrides, now=self.now.timestamp())

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

    # --- what Argo CD says -----------------------------------------------------------------------

    @property
    def operation(self) -> OperationState | None:
        return self.app.status.operation_state

    @cached_property
    def rows(self) -> dict[Key, ResourceRow]:
        return {row.key: row for row in self.app.status.resources}

    @cached_property
    def results(self) -> tuple[ResourceResult, ...]:
        result = self.operation.sync_result if self.operation else None
        return result.resources if result else ()

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
        """Within the time that Kubernetes itself grants a rollout (600 s): it may still be on its way."""
        operation = self.operation
        age = self.age(operation.finished_at or operation.started_at) if operation is not None else None
        return age is not None and age < timedelta(seconds=600)

    @property
    def being_deleted_for(self) -> timedelta | None:
        """How long ago somebody asked to delete the Application itself."""
        return self.age(self.app.metadata.deletion_timestamp)

    def has_sync_option(self, option: str) -> bool:
        return option in self.app.spec.sync_policy.sync_options

    def age(self, instant: datetime | None) -> timedelta | None:
        return None if instant is None else self.now - instant

    # --- the objects -----------------------------------------------------------------------------

    def live_of(self, key: Key) -> Manifest | None:
        """The live object of that name; an object without a namespace is looked for in the destination's."""
        by_key = self.index.live_by_key
        copies = by_key.get(key)
        if not copies:
            namespaces = (self.destination_namespace, "")
            places = (by_key.get(key._replace(namespace=namespace)) for namespace in namespaces)
            copies = next(filter(None, places), ())
        return copies[0] if copies else None

    def desired_of(self, key: Key) -> Manifest | None:
        found = self.desired_by_key.get(key) or self.desired_by_key.get(key._replace(namespace=""))
        if found is None and not key.namespace:  # a row without one: as for live objects
            found = self.desired_by_key.get(key._replace(namespace=self.destination_namespace))
        return found

    def as_in_row(self, ref: Ref) -> Ref:
        """A sync's result gives the destination's namespace to what has none of its own; its row does not."""
        bare = ref.key._replace(namespace="")
        if ref.namespace and ref.key not in self.rows and bare in self.rows:
            return msgspec.structs.replace(ref, namespace="")
        return ref

    def live_named(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """By kind alone, where the text at hand does not tell the API group."""
        for key in self.index.live_keys_by_name.get(name, ()):
            if key.kind == kind and key.namespace in ("", namespace):
                return self.index.live_by_key[key][0]
        return None

    def live_of_kind(self, *kinds: str) -> tuple[Manifest, ...]:
        """All live objects of these kinds, wherever they are."""
        return tuple(manifest for kind in kinds for manifest in self.index.live_by_kind.get(kind, ()))

    def owned_by(self, ref: Ref) -> tuple[Manifest, ...]:
        return tuple(self.index.children_by_owner.get((ref.namespace, ref.kind, ref.name), ()))

    def concerns(self, ref: Ref) -> bool:
        """Does an event about this object concern this app: a row, or something that bears a row's name?

        With one Application at hand, so does what happens in its namespace to objects that nobody knows.
        """
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
        """The Pods below a workload, with what each container went through: the worst first."""
        return pod_histories(self, ref)

    def autoscaler_of(self, ref: Ref) -> Manifest | None:
        """The live object that scales this workload: an HPA, a KEDA ScaledObject, another `*Autoscaler`."""
        for manifest in self.index.autoscalers.get((ref.namespace, ref.name), ()):
            target = fields(manifest.spec.get("scaleTargetRef") or manifest.spec.get("targetRef"))
            if target.get("kind", ref.kind) == ref.kind:
                return manifest
        return None

    # --- what follows ----------------------------------------------------------------------------

    @cached_property
    def reported_texts(self) -> tuple[ReportedText, ...]:
        """Every text in which Argo CD or Kubernetes says what went wrong, the most telling place first."""
        return tuple(reported_texts_of(self))

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        return symptoms_of(self)

    @cached_property
    def symptom_ids(self) -> frozenset[SymptomId]:
        return frozenset(symptom.id for symptom in self.symptoms)

    @cached_property
    def comparison(self) -> Comparison | NotCompared:
        """What Argo CD 3.6 would find; a second opinion next to what it reports in the app's status."""
        return comparison_of(self)

    def compared(self, key: Key) -> ComparedResource | None:
        """The comparison of one resource; an object without a namespace may be in the destination's."""
        namespaces = (key.namespace, self.destination_namespace, "")
        places = (key._replace(namespace=namespace) for namespace in namespaces)
        return next((self._compared[place] for place in places if place in self._compared), None)

    @cached_property
    def _compared(self) -> dict[Key, ComparedResource]:
        found = self.comparison
        return {} if isinstance(found, NotCompared) else {one.key: one for one in found.resources}

    @cached_property
    def drifts(self) -> tuple[Drift, ...]:
        """Every field in which Git and the cluster differ, of the resources that Argo CD calls OutOfSync."""
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
        found: dict[Mechanism, tuple[Drift, ...]] = {}
        for drift in self.drifts:
            mechanism = mechanism_of(self, drift)
            found[mechanism] = (*found.get(mechanism, ()), drift)
        return found

    @cached_property
    def reported_failures(self) -> tuple[ReportedFailure[Failure], ...]:
        """Every failure that some text names, each once, with all the places that say it."""
        return reported_failures_of(self)

    @cached_property
    def confidence_of_texts(self) -> dict[tuple[Ref, str], Confidence]:
        """By object and pointer: the most that a finding from this text may claim."""
        cited = ((reported.cite(says=""), reported.confidence) for reported in self.reported_failures)
        return {(evidence.ref, evidence.pointer): confidence for evidence, confidence in cited}

    def failures(self, kind: type[F]) -> tuple[ReportedFailure[F], ...]:
        return tuple(
            cast("ReportedFailure[F]", r) for r in self.reported_failures if isinstance(r.failure, kind)
        )

    def compared_with(self, index: int) -> bool:
        """Is the repository of this source the one that Argo CD compared with last, as far as it tells?"""
        told = self.app.status.sync.compared_to
        known = (told.sources or ((told.source,) if told.source else ())) if told is not None else ()
        repo = known[index].repo_url if index < len(known) else ""
        return not repo or same_repo(repo, self.app.sources[index].repo_url)

    def head_of(self, repo: str, revision: str) -> Head | None:
        for head in self.index.snapshot.heads:
            if same_repo(head.repo, repo) and head.revision == (revision or "HEAD"):
                return head
        return None


def same_repo(one: str, other: str) -> bool:
    return repository_key(one) == repository_key(other)

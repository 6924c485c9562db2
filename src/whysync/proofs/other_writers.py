"""Other writers of a Case, inferred from drift, managedFields and the objects in the facts.

A user writes once. A controller writes its field back after every change (`FieldController`). A webhook or
the API server changes objects at admission. A source that renders other values each time is a writer too
(`RegeneratingRepositories`). HorizontalPodAutoscalers are part of the simulation itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.argocd.repo_server.repository import GitRepositories, GitRepository, Rendered
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import OtherParticipant
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.mechanism import Mechanism, has_unsynced_revision, in_atomic_list, mechanism_of
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.fix import Remove, Set
from whysync.diagnosis.freshness import sync_loop_of
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, same
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.proofs.admission import Admission, AdmissionChange, Refusals, admission_of
from whysync.proofs.scope import Scope

_REPEATING: Final = frozenset(
    {
        Mechanism.BY_CONTROLLER,
        Mechanism.CLOUD_ANNOTATION,
        Mechanism.TIMESTAMP,
        Mechanism.AGGREGATED,
        Mechanism.AUTOSCALED,
    }
)
_AT_ADMISSION: Final = frozenset(
    {
        Mechanism.INJECTED,
        Mechanism.API_DEFAULT,
        Mechanism.CRD_DEFAULT,
        Mechanism.DROPPED,
        Mechanism.CONVERTED,
        Mechanism.OMITTED_IN_CRD,
        Mechanism.SAME_VALUE,
        Mechanism.SERVER_SET_IN_GIT,
    }
)
_UNCONFIRMED: Final = frozenset({Mechanism.BY_CONTROLLER, Mechanism.TIMESTAMP})
_DEFAULT_NAMES: Final = {
    Mechanism.BY_CONTROLLER: "a controller",
    Mechanism.TIMESTAMP: "a controller",
    Mechanism.CLOUD_ANNOTATION: "the cloud controller",
    Mechanism.AGGREGATED: "the controller that aggregates roles",
    Mechanism.AUTOSCALED: "an autoscaler",
}
_API_SERVER: Final = _AT_ADMISSION - {Mechanism.INJECTED}
_CONTROLLER_SECONDS: Final = 10.0
"""Delay until a controller writes back, if the facts do not show it."""
_MIN_DELAY, _MAX_DELAY = 1.0, 600.0
_GITOPS_SECONDS: Final = 300.0
_SELF_HEAL_SECONDS: Final = 5.0


class OtherWriter(msgspec.Struct, frozen=True, kw_only=True):
    """A writer of one field. `repeats`: it writes again after each change by someone else."""

    who: str
    """For example `kube-controller-manager via scale`."""
    ref: Ref
    pointer: str
    mechanism: Mechanism
    repeats: bool
    seconds: float = 0
    """Delay from a change by someone else to its own write."""
    delay_observed: bool = False
    """The delay is read from the facts, not a default."""
    confirmed: bool = True
    """It is known to write again; an unknown program that wrote once may have been a script."""
    writer: Writer | None = None
    evidence: tuple[Evidence, ...] = ()


class Writers(msgspec.Struct, frozen=True, kw_only=True):
    """All other writers, and what simulates them."""

    all: tuple[OtherWriter, ...] = ()
    participants: tuple[OtherParticipant, ...] = ()
    refusals: Refusals
    admission: Admission = msgspec.field(default_factory=Admission)
    generated: tuple[Drift, ...] = ()

    def of(self, ref: Ref, pointer: str) -> OtherWriter | None:
        return next(
            (writer for writer in self.all if writer.ref.key == ref.key and writer.pointer == pointer), None
        )

    def rendering(self, repositories: GitRepositories) -> GitRepositories:
        """The repositories; generated fields get another value at each rendering."""
        return RegeneratingRepositories(repositories.all, self.generated) if self.generated else repositories


def writers_for(case: Case, scope: Scope, *, assume_repeats: bool = True) -> Writers:
    """Infer the other writers.

    With `assume_repeats`, writers that wrote once and are not known to write again do so too.
    """
    drifts = [drift for drift in case.drifts if drift.key in scope.keys or drift.ref.key in scope.keys]
    mechanisms = [(drift, mechanism_of(case, drift)) for drift in drifts]
    writers = tuple(_writer(case, drift, mechanism) for drift, mechanism in mechanisms)
    enforced = [
        EnforcedField(
            ref=drift.ref, pointer=drift.pointer, value=drift.live_value, who=manager, seconds=seconds
        )
        for drift, manager, seconds in _repeating_writers(
            case, mechanisms, writers, assume_repeats=assume_repeats
        )
    ]
    admission_changes = [
        AdmissionChange(
            key=drift.ref.key, pointer=drift.pointer, desired=drift.desired_value, live=drift.live_value
        )
        for drift, mechanism in mechanisms
        if _is_at_admission(case, drift, mechanism)
    ]
    return Writers(
        all=writers,
        participants=tuple(map(FieldController, enforced)),
        refusals=Refusals(case),
        admission=admission_of(case, admission_changes, drifts),
        generated=tuple(drift for drift, mechanism in mechanisms if mechanism is Mechanism.GENERATED),
    )


def _repeating_writers(
    case: Case,
    mechanisms: list[tuple[Drift, Mechanism]],
    writers: tuple[OtherWriter, ...],
    *,
    assume_repeats: bool,
) -> Iterator[tuple[Drift, str, float]]:
    for (drift, mechanism), writer in zip(mechanisms, writers, strict=True):
        if not (assume_repeats or writer.confirmed):
            continue
        played = mechanism is Mechanism.AUTOSCALED and _is_simulated(case, drift)
        if (
            writer.repeats
            and not played
            and not _is_at_admission(case, drift, mechanism)
            and mechanism is not Mechanism.GENERATED
        ):
            manager = writer.writer.manager if writer.writer is not None else "controller"
            yield drift, manager, writer.seconds


def _is_simulated(case: Case, drift: Drift) -> bool:
    """Is the autoscaler part of the simulation?"""
    scaler = case.autoscaler_of(drift.ref)
    return scaler is not None and scaler.ref.kind == "HorizontalPodAutoscaler"


def _writer(case: Case, drift: Drift, mechanism: Mechanism) -> OtherWriter:
    writer = drift.writer
    delay = _observed_delay(case, mechanism, writer)
    repeats = (
        mechanism in _REPEATING
        or _is_at_admission(case, drift, mechanism)
        or mechanism is Mechanism.GENERATED
        or (mechanism is Mechanism.BY_OTHER_TOOL and _is_gitops(writer))
        or (mechanism is Mechanism.TRACKING and _other_heals(case, drift))
        or (mechanism is Mechanism.UNKNOWN and _is_in_sync_loop(case, writer))
    )
    confirmed = not (mechanism in _UNCONFIRMED and _is_unknown(writer) and sync_loop_of(case) is None)
    return OtherWriter(
        who=_name(case, drift, mechanism, writer),
        ref=drift.ref,
        pointer=drift.pointer,
        mechanism=mechanism,
        repeats=repeats,
        seconds=_default_delay(mechanism) if delay is None else delay,
        delay_observed=delay is not None and confirmed,
        confirmed=confirmed,
        writer=writer,
        evidence=drift.cited(),
    )


def _is_at_admission(case: Case, drift: Drift, mechanism: Mechanism) -> bool:
    """Does the API server or a webhook make this change whenever the object is written?

    A field that the last sync of the same revision did not remove from a list that Argo CD owns as a whole
    is filled in again by the API server.
    """
    refilled = mechanism is Mechanism.KEPT and in_atomic_list(drift) and not has_unsynced_revision(case)
    return refilled or mechanism in _AT_ADMISSION


def _is_in_sync_loop(case: Case, writer: Writer | None) -> bool:
    """Has self-heal reverted an unknown program repeatedly?"""
    return _is_unknown(writer) and sync_loop_of(case) is not None


def _is_unknown(writer: Writer | None) -> bool:
    return writer is not None and writer.kind is WriterKind.UNKNOWN


def _is_gitops(writer: Writer | None) -> bool:
    return writer is not None and writer.kind is WriterKind.OTHER_GITOPS


def _other_heals(case: Case, drift: Drift) -> bool:
    """Does the Application that the object is tracked by have self-heal enabled?"""
    owner = str(drift.live_value).partition(":")[0] if isinstance(drift.live_value, str) else ""
    other_app = case.index.apps_by_name.get(owner.rpartition("_")[2])
    if other_app is None:
        return False
    automated = other_app[1].spec.sync_policy.automated
    return automated is not None and automated.enabled is not False and automated.self_heal


def _name(case: Case, drift: Drift, mechanism: Mechanism, writer: Writer | None) -> str:
    scaler = case.autoscaler_of(drift.ref) if mechanism is Mechanism.AUTOSCALED else None
    if scaler is not None:
        return str(scaler.ref)
    if mechanism is Mechanism.TRACKING and isinstance(drift.live_value, str):
        return f"Application {drift.live_value.partition(':')[0]}"
    if mechanism is Mechanism.GENERATED:
        return "the source, which renders a different value each time"
    if mechanism is Mechanism.SAME_VALUE and not is_builtin(drift.ref):
        # the API server itself stores a custom resource as it was sent
        return "the cluster (a webhook, a controller or the CRD)"
    if mechanism in _API_SERVER or mechanism is Mechanism.KEPT:
        return "the API server"
    if mechanism is Mechanism.INJECTED and (writer is None or writer.kind is WriterKind.ARGOCD):
        return "a mutating webhook"
    return phrase(writer) if writer is not None else _DEFAULT_NAMES.get(mechanism, "an unknown writer")


def _default_delay(mechanism: Mechanism) -> float:
    if mechanism is Mechanism.BY_OTHER_TOOL:
        return _GITOPS_SECONDS
    return _SELF_HEAL_SECONDS if mechanism is Mechanism.TRACKING else _CONTROLLER_SECONDS


def _observed_delay(case: Case, mechanism: Mechanism, writer: Writer | None) -> float | None:
    """Seconds from Argo CD's last sync to the write, if history and managedFields have both."""
    written = writer.time if writer is not None else None
    if written is None or mechanism in (Mechanism.BY_OTHER_TOOL, Mechanism.TRACKING):
        return None
    ends = [entry.deployed_at for entry in case.app.status.history]
    if case.operation is not None:
        ends.append(case.operation.finished_at)
    before: list[datetime] = [end for end in ends if end is not None and end <= written]
    if not before:
        return None
    elapsed = (written - max(before)) / timedelta(seconds=1)
    return max(elapsed, _MIN_DELAY) if elapsed <= _MAX_DELAY else None


class EnforcedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field that a controller keeps at a value."""

    ref: Ref
    pointer: str
    value: Json | Missing
    """`MISSING`: the controller removes the field."""
    who: str
    seconds: float


class FieldController:
    """Keeps a field at a value: writes it back some seconds after another writer changed it."""

    def __init__(self, enforced: EnforcedField) -> None:
        self._field = enforced
        self._due: datetime | None = None
        self._seen = -1
        self.writes = 0
        """Number of successful writes."""

    def start(self, simulation: Simulation) -> None:
        self._api_server = simulation.api_server

    def reconcile(self) -> bool:
        journal = len(self._api_server.store.journal)
        if self._due is None and journal == self._seen:
            return False
        self._seen = journal
        obj = self._object()
        if obj is None or not self._differs(obj):
            self._due = None
            return False
        now = self._api_server.clock.now
        if self._due is None:
            self._due = now + timedelta(seconds=self._field.seconds)
        if now < self._due:
            return False
        self._due = None
        return self._write(obj)

    def next_wakeup(self) -> datetime | None:
        return self._due

    def _object(self) -> Object | None:
        resource = self._api_server.discovery.of_object(
            {"apiVersion": self._field.ref.api_version, "kind": self._field.ref.kind}
        )
        if resource is None:
            return None
        namespace = self._field.ref.namespace if resource.namespaced else ""
        return self._api_server.store.get((resource.store, namespace, self._field.ref.name))

    def _differs(self, obj: Object) -> bool:
        live = pointers.resolve(obj, self._field.pointer)
        value = self._field.value
        if isinstance(value, Missing) or isinstance(live, Missing):
            return (value is MISSING) != (live is MISSING)
        return not same(live, value)

    def _write(self, obj: Object) -> bool:
        value = self._field.value
        edit = (
            Remove(pointer=self._field.pointer)
            if isinstance(value, Missing)
            else Set(pointer=self._field.pointer, value=value)
        )
        resource = self._api_server.discovery.of_object(obj)
        if resource is None:
            return False
        namespace = f"namespaces/{self._field.ref.namespace}/" if resource.namespaced else ""
        root = "api" if not resource.group else "apis"
        path = f"/{root}/{resource.api_version}/{namespace}{resource.plural}/{self._field.ref.name}"
        answer = self._api_server.send(
            Request(verb="update", path=path, body=edited(obj, [edit]), manager=self._field.who)
        )
        self.writes += answer.ok
        return answer.ok


class RegeneratingRepositories(GitRepositories):
    """Repositories whose first rendering is the one in the facts; later ones have other generated values."""

    def __init__(self, repositories: Iterable[GitRepository], drifts: Iterable[Drift]) -> None:
        super().__init__(repositories)
        self._drifts = [drift for drift in drifts if not drift.only_live]
        self._renderings = 0

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = super().render(application, source, commit)
        self._renderings += 1
        if self._renderings == 1:
            return rendered
        return Rendered(
            manifests=tuple(self._regenerated(obj) for obj in rendered.manifests),
            source_type=rendered.source_type,
        )

    def _regenerated(self, obj: Object) -> Object:
        key = ref_of(obj).key
        edits = [
            Set(pointer=drift.pointer, value=self._other_value(drift.desired_value))
            for drift in self._drifts
            if _concerns(drift, key) and _has(obj, drift.pointer)
        ]
        return edited(obj, edits) if edits else obj

    def _other_value(self, value: object) -> Json:
        """Another value of the same type; base64 stays valid."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value + self._renderings
        return (
            f"{value}{'AAAA' * (self._renderings - 1)}" if isinstance(value, str) else str(self._renderings)
        )


def _concerns(drift: Drift, key: Key) -> bool:
    return drift.desired.key == key or drift.ref.key == key


def _has(obj: Object, pointer: str) -> bool:
    return not isinstance(pointers.resolve(obj, pointer), Missing)

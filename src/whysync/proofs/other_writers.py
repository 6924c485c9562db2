"""Other writers of a Case, inferred from drift, managedFields and the objects in the facts.

A user writes once. A controller writes its field back after every change (`FieldHolder`). A webhook or the
API server changes objects at admission. A source that renders other values each time is a writer too
(`Regenerating`). HorizontalPodAutoscalers are part of the simulation itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.repo_server.repository import GitRepositories, GitRepository, Rendered
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import OtherParticipant
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.fix import Remove, Set
from whysync.diagnosis.freshness import sync_loop_of
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, same
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.proofs.admission import Admission, Passing, Refusals, admission_of
from whysync.proofs.scope import Scope

_AGAIN: Final = frozenset(
    {
        Mechanism.BY_CONTROLLER,
        Mechanism.CLOUD_ANNOTATION,
        Mechanism.TIMESTAMP,
        Mechanism.AGGREGATED,
        Mechanism.AUTOSCALED,
    }
)
_IN_PASSING: Final = frozenset(
    {
        Mechanism.INJECTED,
        Mechanism.API_DEFAULT,
        Mechanism.CRD_DEFAULT,
        Mechanism.DROPPED,
        Mechanism.CONVERTED,
        Mechanism.SAME_VALUE,
        Mechanism.SERVER_SET_IN_GIT,
    }
)
_SEEN_ONCE: Final = frozenset({Mechanism.BY_CONTROLLER, Mechanism.TIMESTAMP})
_UNNAMED: Final = {
    Mechanism.BY_CONTROLLER: "a controller",
    Mechanism.TIMESTAMP: "a controller",
    Mechanism.CLOUD_ANNOTATION: "the cloud's controller",
    Mechanism.AGGREGATED: "the controller that aggregates roles",
    Mechanism.AUTOSCALED: "an autoscaler",
}
_SERVERS: Final = _IN_PASSING - {Mechanism.INJECTED}
_SECONDS: Final = 10.0
"""How soon a controller writes back, where the facts do not tell."""
_SHORTEST, _LONGEST = 1.0, 600.0
_GITOPS_SECONDS: Final = 300.0
_HEALS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWriter:
    """One who writes one field. `again`: it does so each time somebody else changes it."""

    who: str
    """In words: `kube-controller-manager via scale`."""
    ref: Ref
    pointer: str
    mechanism: Mechanism
    again: bool
    seconds: float = 0
    """From a change of somebody else to its own write."""
    timed: bool = False
    """The facts show how long it takes; else it is a usual time."""
    certain: bool = True
    """It is known to write again. An unknown program that wrote once may have been a script."""
    writer: Writer | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """All other writers, and what simulates them."""

    all: tuple[OtherWriter, ...] = ()
    participants: tuple[OtherParticipant, ...] = ()
    refusals: Refusals
    admission: Admission = field(default_factory=Admission)
    generated: tuple[Drift, ...] = ()

    def of(self, ref: Ref, pointer: str) -> OtherWriter | None:
        return next((one for one in self.all if one.ref.key == ref.key and one.pointer == pointer), None)

    def rendering(self, repositories: GitRepositories) -> GitRepositories:
        """The repositories, of which some render another value each time."""
        return Regenerating(repositories.all, self.generated) if self.generated else repositories


def writers_for(case: Case, part: Scope, *, active: bool = True, returning: bool = True) -> Writers:
    """Infer the other writers; if they are not `active`, only refusals are simulated.

    `returning`: those that wrote once, and are not known to write again, do so too.
    """
    refusals = Refusals(case)
    drifts = [drift for drift in case.drifts if drift.key in part.keys or drift.ref.key in part.keys]
    told = [(drift, mechanism_of(case, drift)) for drift in drifts]
    every = tuple(_writer(case, drift, mechanism) for drift, mechanism in told)
    if not active:
        return Writers(all=every, refusals=refusals)
    held = [
        HeldField(ref=drift.ref, pointer=drift.pointer, value=drift.live_value, who=manager, seconds=seconds)
        for drift, manager, seconds in _at_work(case, told, every, returning=returning)
    ]
    passing = [
        Passing(key=drift.ref.key, pointer=drift.pointer, wanted=drift.desired_value, found=drift.live_value)
        for drift, mechanism in told
        if mechanism in _IN_PASSING
    ]
    return Writers(
        all=every,
        participants=tuple(map(FieldHolder, held)),
        refusals=refusals,
        admission=admission_of(case, passing, drifts),
        generated=tuple(drift for drift, mechanism in told if mechanism is Mechanism.GENERATED),
    )


def _at_work(
    case: Case, told: list[tuple[Drift, Mechanism]], every: tuple[OtherWriter, ...], *, returning: bool
) -> Iterator[tuple[Drift, str, float]]:
    for (drift, mechanism), one in zip(told, every, strict=True):
        if not (returning or one.certain):
            continue
        played = mechanism is Mechanism.AUTOSCALED and _is_played(case, drift)
        if one.again and not played and mechanism not in _IN_PASSING and mechanism is not Mechanism.GENERATED:
            manager = one.writer.manager if one.writer is not None else "controller"
            yield drift, manager, one.seconds


def _is_played(case: Case, drift: Drift) -> bool:
    """The model has an autoscaler of its own for these."""
    scaler = case.autoscaler_of(drift.ref)
    return scaler is not None and scaler.ref.kind == "HorizontalPodAutoscaler"


def _writer(case: Case, drift: Drift, mechanism: Mechanism) -> OtherWriter:
    writer = drift.writer
    seen = _delay(case, mechanism, writer)
    again = (
        mechanism in _AGAIN
        or mechanism in _IN_PASSING
        or mechanism is Mechanism.GENERATED
        or (mechanism is Mechanism.BY_OTHER_TOOL and _is_gitops(writer))
        or (mechanism is Mechanism.TRACKING and _other_heals(case, drift))
        or (mechanism is Mechanism.UNKNOWN and _fights(case, writer))
    )
    certain = not (mechanism in _SEEN_ONCE and _is_unknown(writer) and sync_loop_of(case) is None)
    return OtherWriter(
        who=_name(case, drift, mechanism, writer),
        ref=drift.ref,
        pointer=drift.pointer,
        mechanism=mechanism,
        again=again,
        seconds=_usual(mechanism) if seen is None else seen,
        timed=seen is not None and certain,
        certain=certain,
        writer=writer,
        evidence=drift.cited(),
    )


def _fights(case: Case, writer: Writer | None) -> bool:
    """Nobody knows the program, but self-heal has undone its work again and again."""
    return _is_unknown(writer) and sync_loop_of(case) is not None


def _is_unknown(writer: Writer | None) -> bool:
    return writer is not None and writer.kind is WriterKind.UNKNOWN


def _is_gitops(writer: Writer | None) -> bool:
    return writer is not None and writer.kind is WriterKind.OTHER_GITOPS


def _other_heals(case: Case, drift: Drift) -> bool:
    """Another Application claims the object, and puts its own state back by itself."""
    owner = str(drift.live_value).partition(":")[0] if isinstance(drift.live_value, str) else ""
    known = case.index.apps_by_name.get(owner.rpartition("_")[2])
    if known is None:
        return False
    automated = known[1].spec.sync_policy.automated
    return automated is not None and automated.enabled is not False and automated.self_heal


def _name(case: Case, drift: Drift, mechanism: Mechanism, writer: Writer | None) -> str:
    scaler = case.autoscaler_of(drift.ref) if mechanism is Mechanism.AUTOSCALED else None
    if scaler is not None:
        return str(scaler.ref)
    if mechanism is Mechanism.TRACKING and isinstance(drift.live_value, str):
        return f"Application {drift.live_value.partition(':')[0]}"
    if mechanism is Mechanism.GENERATED:
        return "the source, which renders another value each time"
    if mechanism in _SERVERS:
        return "the API server"
    if mechanism is Mechanism.INJECTED and (writer is None or writer.kind is WriterKind.ARGOCD):
        return "a mutating webhook"
    return phrase(writer) if writer is not None else _UNNAMED.get(mechanism, "somebody")


def _usual(mechanism: Mechanism) -> float:
    if mechanism is Mechanism.BY_OTHER_TOOL:
        return _GITOPS_SECONDS
    return _HEALS_SECONDS if mechanism is Mechanism.TRACKING else _SECONDS


def _delay(case: Case, mechanism: Mechanism, writer: Writer | None) -> float | None:
    """From Argo CD's last sync to the other's write, where history and managedFields tell both."""
    written = writer.time if writer is not None else None
    if written is None or mechanism in (Mechanism.BY_OTHER_TOOL, Mechanism.TRACKING):
        return None
    ends = [entry.deployed_at for entry in case.app.status.history]
    if case.operation is not None:
        ends.append(case.operation.finished_at)
    before: list[datetime] = [end for end in ends if end is not None and end <= written]
    if not before:
        return None
    waited = (written - max(before)) / timedelta(seconds=1)
    return max(waited, _SHORTEST) if waited <= _LONGEST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldField:
    ref: Ref
    pointer: str
    value: Json | Missing
    """Missing: it takes the field away."""
    who: str
    seconds: float


class FieldHolder:
    """Keeps a field at a value: writes it back some seconds after somebody else has changed it."""

    def __init__(self, held: HeldField) -> None:
        self._held = held
        self._due: datetime | None = None
        self._seen = -1
        self.writes = 0
        """How often it had to write."""

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
            self._due = now + timedelta(seconds=self._held.seconds)
        if now < self._due:
            return False
        self._due = None
        return self._write(obj)

    def next_wakeup(self) -> datetime | None:
        return self._due

    def _object(self) -> Object | None:
        resource = self._api_server.discovery.of_object(
            {"apiVersion": self._held.ref.api_version, "kind": self._held.ref.kind}
        )
        if resource is None:
            return None
        space = self._held.ref.namespace if resource.namespaced else ""
        return self._api_server.store.get((resource.store, space, self._held.ref.name))

    def _differs(self, obj: Object) -> bool:
        found = pointers.resolve(obj, self._held.pointer)
        value = self._held.value
        if isinstance(value, Missing) or isinstance(found, Missing):
            return (value is MISSING) != (found is MISSING)
        return not same(found, value)

    def _write(self, obj: Object) -> bool:
        value = self._held.value
        edit = (
            Remove(pointer=self._held.pointer)
            if isinstance(value, Missing)
            else Set(pointer=self._held.pointer, value=value)
        )
        resource = self._api_server.discovery.of_object(obj)
        if resource is None:
            return False
        space = f"namespaces/{self._held.ref.namespace}/" if resource.namespaced else ""
        root = "api" if not resource.group else "apis"
        path = f"/{root}/{resource.api_version}/{space}{resource.plural}/{self._held.ref.name}"
        answer = self._api_server.send(
            Request(verb="update", path=path, body=edited(obj, [edit]), manager=self._held.who)
        )
        self.writes += answer.ok
        return answer.ok


class Regenerating(GitRepositories):
    """The first rendering is the one that was seen; each after it has other values in those fields."""

    def __init__(self, repositories: Iterable[GitRepository], drifts: Iterable[Drift]) -> None:
        super().__init__(repositories)
        self._drifts = [drift for drift in drifts if not drift.only_live]
        self._times = 0

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = super().render(application, source, commit)
        self._times += 1
        if self._times == 1:
            return rendered
        return Rendered(
            manifests=tuple(self._anew(obj) for obj in rendered.manifests), source_type=rendered.source_type
        )

    def _anew(self, obj: Object) -> Object:
        key = ref_of(obj).key
        edits = [
            Set(pointer=drift.pointer, value=self._another(drift.desired_value))
            for drift in self._drifts
            if _is_of(drift, key) and _has(obj, drift.pointer)
        ]
        return edited(obj, edits) if edits else obj

    def _another(self, value: object) -> Json:
        """Of the same kind as before: text stays text, base64 stays base64."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value + self._times
        return f"{value}{'AAAA' * (self._times - 1)}" if isinstance(value, str) else str(self._times)


def _is_of(drift: Drift, key: Key) -> bool:
    return drift.desired.key == key or drift.ref.key == key


def _has(obj: Object, pointer: str) -> bool:
    from whysync.json_tree import Missing
    from whysync.kubernetes.api.pointer import resolve

    return not isinstance(resolve(obj, pointer), Missing)

"""Symptoms that Argo CD reports in a simulation, comparable with those of a Case.

`differs:apps/Deployment/shop/web` stands for any field, `condition:SyncError` for any index of the list. An
`Observer` records samples of them while time passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.health.assess import health_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import (
    APP_DIFFERS,
    APP_UNHEALTHY,
    NO_CONDITION,
    OPERATION,
    Symptom,
    SymptomId,
    SymptomKind,
)
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.controllers.client import PODS
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.previous_revision import previous_revision_of

SymptomIds = frozenset[SymptomId]
_HEALTHY: Final = ("", "Healthy")
_RUNNING_PHASES: Final = ("Running", "Terminating")


def observed_symptoms(world: SimulatedCase) -> SymptomIds:
    """All symptoms of the app at this moment; empty if it is Synced and Healthy."""
    return frozenset(_symptoms(world))


def _symptoms(world: SimulatedCase) -> Iterator[SymptomId]:
    status = world.status
    for raw in items(status.get("conditions")):
        yield SymptomId.condition(text(dig(raw, "type")))
    sync, health = world.sync_and_health
    if sync == "OutOfSync":
        yield APP_DIFFERS
    if health not in _HEALTHY:
        yield APP_UNHEALTHY
    yield from _operation_symptoms(world)
    for row in map(fields, items(status.get("resources"))):
        # With IgnoreExtraneous, a row can be OutOfSync in an app that is Synced.
        differs = sync == "OutOfSync" and row.get("status") == "OutOfSync"
        if not differs and health in _HEALTHY:
            continue
        key, live = key_of(row), live_object(world, row)
        if differs:
            if row.get("requiresPruning") is True:
                yield SymptomId.extra(key)
            elif live is None:
                yield SymptomId.missing(key)
            else:
                yield SymptomId.differs(key)
        if (
            live is not None
            and health not in _HEALTHY
            and _health(world, row, live) not in (*_HEALTHY, "Missing")
        ):
            yield SymptomId.unhealthy(key)


def _operation_symptoms(world: SimulatedCase) -> Iterator[SymptomId]:
    if world.is_operating or text(world.operation.get("phase")) in (*FAILED_PHASES, *_RUNNING_PHASES):
        yield OPERATION
    yield from failed_resources(world)


def failed_resources(world: SimulatedCase) -> dict[SymptomId, str]:
    """Resources that failed to sync, each with the message of its result.

    Argo CD gives a cluster-scoped resource the destination's namespace, but not each version reports it.
    """
    failures: dict[SymptomId, str] = {}
    for raw in items(dig(world.operation, "syncResult", "resources")):
        result = fields(raw)
        if result.get("status") == "SyncFailed" or result.get("hookPhase") in FAILED_PHASES:
            failures[SymptomId.result(_reported_key(world, key_of(result)))] = text(result.get("message"))
    return failures


def _reported_key(world: SimulatedCase, key: Key) -> Key:
    reported = world.case.result_keys
    bare = key._replace(namespace="")
    return bare if key not in reported and bare in reported else key


def key_of(row: Object) -> Key:
    return Key(*(text(row.get(field)) for field in ("group", "kind", "namespace", "name")))


def live_object(world: SimulatedCase, row: Object) -> Object | None:
    """The live object of a row of `status.resources`."""
    group, version = text(row.get("group")), text(row.get("version"))
    kind: Object = {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": text(row.get("kind")),
    }
    resource = world.simulation.api_server.discovery.of_object(kind)
    if resource is None:
        return None
    namespace = text(row.get("namespace")) if resource.namespaced else ""
    return world.simulation.api_server.store.get((resource.store, namespace, text(row.get("name"))))


def health_in(world: SimulatedCase, row: Object) -> str:
    """Health of a row of `status.resources`; empty without a health check or a live object."""
    live = live_object(world, row)
    return _health(world, row, live) if live is not None else ""


def _health(world: SimulatedCase, row: Object, live: Object) -> str:
    reported = text(dig(row, "health", "status"))
    if reported:
        return reported
    overrides = world.simulation.argocd.context.settings.overrides
    verdict = health_of(live, overrides, now=world.simulation.clock.now.timestamp())
    return text(verdict.code) if verdict is not None and verdict.code is not None else ""


def observable_symptoms(case: Case, ids: Iterable[SymptomId]) -> SymptomIds:
    """The symptoms of a Case as a simulation would show them; most events and logs have no equivalent."""
    by_id = {symptom.id: symptom for symptom in case.symptoms}
    observable = (_observable_id(by_id[id]) for id in ids if id in by_id)
    return frozenset(id for id in observable if id is not None)


def _observable_id(symptom: Symptom) -> SymptomId | None:
    id = symptom.id
    match id.kind:
        case SymptomKind.CONDITION:
            return SymptomId.condition(id.detail) if id.detail and id != NO_CONDITION else None
        case SymptomKind.OPERATION:
            return OPERATION
        case (
            SymptomKind.DIFFERS
            | SymptomKind.MISSING
            | SymptomKind.EXTRA
            | SymptomKind.UNHEALTHY
            | SymptomKind.RESULT
        ):
            return SymptomId(id.kind, id.key)
        case SymptomKind.EVENT | SymptomKind.STATE:
            return _event_symptom(symptom)
        case SymptomKind.LOG | SymptomKind.BEHIND | SymptomKind.STALE:
            return None


def _event_symptom(symptom: Symptom) -> SymptomId | None:
    """An event about a resource shows as its health; an event about a Pod shows at its owner."""
    ref = symptom.ref
    if ref is None or not symptom.because or ref.kind in ("Pod", "ReplicaSet"):
        return None
    return SymptomId.unhealthy(ref.key)


_RESOURCE_TEXTS: Final = {
    SymptomKind.DIFFERS: "differs",
    SymptomKind.MISSING: "is missing",
    SymptomKind.EXTRA: "requires pruning",
    SymptomKind.UNHEALTHY: "is not healthy",
    SymptomKind.RESULT: "fails to sync",
}
_APP_TEXTS: Final = {
    APP_DIFFERS: "the app is OutOfSync",
    APP_UNHEALTHY: "the app is not healthy",
    OPERATION: "the sync does not succeed",
}


def describe_symptom(symptom: SymptomId) -> str:
    """`Deployment shop/web differs`."""
    if symptom.key is not None:
        name = "/".join(filter(None, (symptom.key.namespace, symptom.key.name)))
        return f"{symptom.key.kind} {name} {_RESOURCE_TEXTS[symptom.kind]}"
    return _APP_TEXTS.get(symptom) or f"condition {symptom.detail}"


_MAX_SYNCS: Final = 40
"""A run ends after this many syncs: the app is in a sync loop."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Status and symptoms of the app at one time."""

    at: datetime
    sync: str
    health: str
    symptoms: SymptomIds
    number: int = 0
    """Number of Argo CD's events before it: the order within one instant."""


class ObservedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A step that a user took; `refused` is the error if it failed."""

    at: datetime
    text: str
    refused: str = ""
    number: int = 0


class Observer:
    """Records samples, actions and Argo CD's events of one simulation."""

    def __init__(self, world: SimulatedCase) -> None:
        self.world = world
        self.started_at = world.simulation.clock.now
        self.samples: list[Sample] = []
        self.actions: list[ObservedAction] = []
        self._last_body: Object | None = None
        self.record_sample()
        world.simulation.timeline.settle()
        self.record_sample()
        self.initial_symptoms = self.symptoms
        """Symptoms after Argo CD's first comparison; the first sample shows the facts as they were read."""

    @property
    def now(self) -> datetime:
        return self.world.simulation.clock.now

    @property
    def events(self) -> list[TraceEvent]:
        """Argo CD's events for this app since the start."""
        return [event for event in self.world.simulation.argocd.trace if event.app == self.world.app]

    @property
    def sync_starts(self) -> list[datetime]:
        return [event.at for event in self.events if event.kind is TraceKind.STARTED]

    @property
    def symptoms(self) -> SymptomIds:
        return self.samples[-1].symptoms

    def record_sample(self) -> None:
        """Append a sample if status or symptoms have changed."""
        body = self.world.simulation.argocd.applications.get(self.world.app)
        if body is None or body is self._last_body:
            return
        self._last_body = body
        sync, health = self.world.sync_and_health
        sample = Sample(
            at=self.now,
            sync=sync,
            health=health,
            symptoms=observed_symptoms(self.world),
            number=len(self.events),
        )
        last = self.samples[-1] if self.samples else None
        if last is None or (last.sync, last.health, last.symptoms) != (
            sample.sync,
            sample.health,
            sample.symptoms,
        ):
            self.samples.append(sample)

    def run(self, duration: timedelta, until: Callable[[], bool] | None = None) -> bool:
        """Advance the clock; true if `until` became true. Raises `NeverSettles`."""

        def is_done() -> bool:
            self.record_sample()
            return (until is not None and until()) or len(self.sync_starts) > _MAX_SYNCS

        self.world.until(is_done, duration)
        self._last_body = None  # objects may have changed though the Application has not
        self.record_sample()
        return until is not None and until()

    def samples_since(self, instant: datetime) -> list[Sample]:
        """The sample that was current at that time, and all later ones."""
        later = [sample for sample in self.samples if sample.at > instant]
        before = [sample for sample in self.samples if sample.at <= instant]
        return [*before[-1:], *later]

    @property
    def is_synced_and_healthy(self) -> bool:
        """Synced and Healthy, with no operation running and no symptoms."""
        return (
            not self.world.is_operating
            and self.world.sync_and_health == ("Synced", "Healthy")
            and not self.symptoms
        )

    @property
    def is_progressing(self) -> bool:
        """An operation is running, or the app is Progressing."""
        return self.world.is_operating or self.world.sync_and_health[1] == "Progressing"

    @property
    def sync_ended(self) -> bool:
        return not self.world.is_operating

    def persisting(self, symptoms: SymptomIds, since: datetime) -> SymptomIds:
        """The symptoms that are present at the end, or came back at least once after `since`.

        An operation that runs and ends does not count.
        """
        samples = self.samples_since(since)
        persisting = set(symptoms & self.symptoms)
        for symptom in symptoms - persisting - {OPERATION}:
            returned = any(
                symptom not in before.symptoms and symptom in after.symptoms
                for before, after in pairwise(samples)
            )
            if returned or self._recurs_within_instant(symptom, since):
                persisting.add(symptom)
        return frozenset(persisting)

    def _recurs_within_instant(self, symptom: SymptomId, since: datetime) -> bool:
        """Did it come and go between two samples? Self-heal may correct a difference at once."""
        events = [event for event in self.events if event.at > since]
        differed = {
            event.at for event in events if event.kind is TraceKind.STATUS and event.status == "OutOfSync"
        }
        if symptom == APP_DIFFERS:
            return bool(differed)
        return any(
            symptom == SymptomId.differs(event.about.key) and not event.text.endswith("unchanged")
            for event in events
            if event.kind is TraceKind.RESULT and event.about is not None and event.at in differed
        )

    def absent_until(self, symptoms: SymptomIds, since: datetime, end: datetime) -> bool:
        """Were all of these symptoms absent from `since` to `end`?"""
        return not any(symptoms & sample.symptoms for sample in self.samples_since(since) if sample.at <= end)

    def record_action(self, text: str, refused: str = "") -> None:
        self.actions.append(ObservedAction(at=self.now, text=text, refused=refused, number=len(self.events)))


def drifts_now(world: SimulatedCase) -> tuple[Drift, ...]:
    """The fields that differ now."""
    snapshot = snapshot_of(world.simulation)
    application = next(
        (application for application in snapshot.applications if application.ref.place == world.app), None
    )
    if application is None:
        return ()
    app = decode(application.body, Application)[0] or Application()
    return tuple(Case(SnapshotIndex(snapshot), application, app).drifts)


_MAX_DISAGREEMENTS: Final = 3


def disagreement(world: SimulatedCase, explained: Collection[Key] = ()) -> list[str]:
    """Resources whose status differs between the facts and the first comparison of the simulation.

    Without those whose differing fields have no effect (`without_effect`), and without the explained ones:
    the simulation need not show them.
    """
    case = world.case
    texts: list[str] = []
    harmless = {ref.key for ref, _ in without_effect(world)}
    for row in items(world.status.get("resources")):
        reported = case.rows.get(key_of(fields(row)))
        if reported is None or reported.hook or reported.key in harmless or reported.key in explained:
            continue
        simulated = text(dig(row, "status"))
        if reported.status == "OutOfSync" and simulated == "Synced":
            texts.append(f"the simulation does not show why {reported.ref} is OutOfSync")
        elif reported.status == "Synced" and simulated == "OutOfSync":
            texts.append(
                f"the simulation shows a difference in {reported.ref}, which Argo CD does not report"
            )
    if len(texts) > _MAX_DISAGREEMENTS:
        return [*texts[: _MAX_DISAGREEMENTS - 1], f"and {len(texts) - _MAX_DISAGREEMENTS + 1} more resources"]
    return texts


_NO_EFFECT: Final = frozenset(
    {Mechanism.SAME_VALUE, Mechanism.REORDERED, Mechanism.API_DEFAULT, Mechanism.CRD_DEFAULT}
)
"""A sync of these writes what the cluster stores already, or what the API server restores."""
_DEFAULTS: Final = frozenset({Mechanism.API_DEFAULT, Mechanism.CRD_DEFAULT})


def without_effect(world: SimulatedCase) -> list[tuple[Ref, Mechanism]]:
    """OutOfSync resources that a sync does not change, each with its mechanism; a default only if all are."""
    case = world.case
    found: list[tuple[Ref, Mechanism]] = []
    for row in items(world.status.get("resources")):
        reported = case.rows.get(key_of(fields(row)))
        if reported is None or reported.status != "OutOfSync" or dig(row, "status") != "Synced":
            continue
        mechanisms = [mechanism_of(case, drift) for drift in case.drifts if drift.key == reported.key]
        if mechanisms and set(mechanisms) <= _NO_EFFECT:
            found.append((reported.ref, min(mechanisms, key=_DEFAULTS.__contains__)))
    return found


_READY_COUNTS = ("readyReplicas", "numberReady", "succeeded")


def unobserved_images(world: SimulatedCase) -> list[str]:
    """Images that a result of the simulation depends on and that no pod in the facts was seen to run."""
    images = _images_of_pods(world) | _images_that_ran(world)
    return sorted(images - {""} - _observed_images(world.case) - _previous_images(world))


def _images_of_pods(world: SimulatedCase) -> set[str]:
    """Images of the pods that exist now, ready or not."""
    pods = world.simulation.api_server.store.within(PODS)
    return {image for _, pod in pods for image in _images(fields(pod.get("spec")))}


def _images_that_ran(world: SimulatedCase) -> set[str]:
    """Images that ran in the simulation: the pods of a hook are deleted with it when it has succeeded."""
    return {
        image
        for change in world.simulation.api_server.store.journal
        if change.object_key[0] == PODS
        for image in _running_images(change.obj)
    }


def _previous_images(world: SimulatedCase) -> set[str]:
    """Images of previous revisions, which ran although their pods are gone."""
    images: set[str] = set()
    for desired_object in world.scope.desired:
        before = (
            previous_revision_of(world.case, desired_object.ref)
            if desired_object.ref.kind == "Deployment"
            else None
        )
        if before is not None and not before.still_runs:
            images |= set(_images(fields(dig(before.manifest.spec, "template", "spec"))))
    return images


def _observed_images(case: Case) -> set[str]:
    """Images of containers that are ready or completed, and of workloads with ready pods."""
    images = case.index.observed_images
    if images is not None:
        return images
    images = case.index.observed_images = set[str]()
    for live in case.index.walk_live():
        if live.ref.kind == "Pod":
            images |= set(_running_images(live.body))
        elif any(integer(live.status.get(count)) > _outdated_pods(live.status) for count in _READY_COUNTS):
            images |= set(_images(fields(dig(live.spec, "template", "spec"))))
    return images


def _outdated_pods(status: Object) -> int:
    """Pods of a Deployment that have an older template; the ready pods may be these."""
    updated = status.get("updatedReplicas")
    total = integer(status.get("replicas"))
    return max(total - integer(updated), 0) if total and "observedGeneration" in status else 0


def _running_images(pod: Object) -> Iterator[str]:
    """Images of containers that are ready or exited with 0."""
    by_name = {
        text(dig(container, "name")): text(dig(container, "image"))
        for group in ("initContainers", "containers")
        for container in items(dig(pod, "spec", group))
    }
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            exit_code = dig(raw, "state", "terminated", "exitCode")
            if dig(raw, "ready") is True or exit_code == 0:
                yield by_name.get(text(dig(raw, "name")), "")


def _images(pod: Object) -> Iterator[str]:
    for group in ("initContainers", "containers"):
        yield from (text(dig(container, "image")) for container in items(pod.get(group)))


def is_unready(pod: Manifest) -> bool:
    """Is it a pod that should run and is not ready?"""
    if pod.status.get("phase") not in ("Pending", "Running"):
        return False
    return not is_ready(pod.body)

"""What Argo CD shows of the app in a simulation, as symptoms that compare with those of a Case.

`differs:apps/Deployment/shop/web` whatever the field, and `condition:SyncError` at any index of the list. An
`Observer` records them while time passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from whysync.argocd.api.application import Application
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.health.assess import health_of
from whysync.diagnosis.case import Case
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
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.previous_revision import previous_revision_of

Signs = frozenset[SymptomId]
_WELL: Final = ("", "Healthy")
_OPEN_PHASES: Final = ("Running", "Terminating")


def signs_of(world: SimulatedCase) -> Signs:
    """All that is not as it should be; nothing, of an app that is well."""
    return frozenset(_signs(world))


def _signs(world: SimulatedCase) -> Iterator[SymptomId]:
    status = world.status
    for raw in items(status.get("conditions")):
        yield SymptomId.condition(text(dig(raw, "type")))
    sync, health = world.codes
    if sync == "OutOfSync":
        yield APP_DIFFERS
    if health not in _WELL:
        yield APP_UNHEALTHY
    yield from _of_operation(world)
    for raw in items(status.get("resources")):
        row = fields(raw)
        key = key_of(row)
        live = live_object(world, row)
        # A row that is left out of account (IgnoreExtraneous) is OutOfSync in an app that is Synced.
        if row.get("status") == "OutOfSync" and sync == "OutOfSync":
            if row.get("requiresPruning") is True:
                yield SymptomId.extra(key)
            elif live is None:
                yield SymptomId.missing(key)
            else:
                yield SymptomId.differs(key)
        if live is not None and health not in _WELL and _health(world, row, live) not in (*_WELL, "Missing"):
            yield SymptomId.unhealthy(key)


def _of_operation(world: SimulatedCase) -> Iterator[SymptomId]:
    state = world.operation
    if world.is_operating or text(state.get("phase")) in (*FAILED_PHASES, *_OPEN_PHASES):
        yield OPERATION
    yield from failures_in(world)


def failures_in(world: SimulatedCase) -> dict[SymptomId, str]:
    """The signs of resources that failed to sync, each with the words."""
    found: dict[SymptomId, str] = {}
    for raw in items(dig(world.operation, "syncResult", "resources")):
        result = fields(raw)
        if result.get("status") == "SyncFailed" or result.get("hookPhase") in FAILED_PHASES:
            found[SymptomId.result(key_of(result))] = text(result.get("message"))
    return found


def key_of(row: Object) -> Key:
    return Key(*(text(row.get(part)) for part in ("group", "kind", "namespace", "name")))


def live_object(world: SimulatedCase, row: Object) -> Object | None:
    """The object of a row of the status, as the model's cluster has it now."""
    group, version = text(row.get("group")), text(row.get("version"))
    kind: Object = {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": text(row.get("kind")),
    }
    resource = world.simulation.api_server.discovery.of_object(kind)
    if resource is None:
        return None
    space = text(row.get("namespace")) if resource.namespaced else ""
    return world.simulation.api_server.store.get((resource.store, space, text(row.get("name"))))


def health_in(world: SimulatedCase, row: Object) -> str:
    """Of a row of the status; nothing where Argo CD has no check for it, or it is not there."""
    live = live_object(world, row)
    return _health(world, row, live) if live is not None else ""


def _health(world: SimulatedCase, row: Object, live: Object) -> str:
    told = text(dig(row, "health", "status"))
    if told:
        return told
    overrides = world.simulation.argocd.context.settings.overrides
    verdict = health_of(live, overrides, now=world.simulation.clock.now.timestamp())
    return text(verdict.code) if verdict is not None and verdict.code is not None else ""


def signs_for(case: Case, symptoms: Iterable[SymptomId]) -> Signs:
    """The signs by which these symptoms of a Case would show; those of events and logs have none."""
    by_id = {symptom.id: symptom for symptom in case.symptoms}
    found = (_sign(by_id[id]) for id in symptoms if id in by_id)
    return frozenset(sign for sign in found if sign is not None)


def _sign(symptom: Symptom) -> SymptomId | None:
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
            return _of_event(symptom)
        case SymptomKind.LOG | SymptomKind.BEHIND | SymptomKind.STALE:
            return None


def _of_event(symptom: Symptom) -> SymptomId | None:
    """An event about a resource of the app shows in its health; of pods, their owner's health tells."""
    ref = symptom.ref
    if ref is None or not symptom.because or ref.kind in ("Pod", "ReplicaSet"):
        return None
    return SymptomId.unhealthy(ref.key)


_OF_A_RESOURCE: Final = {
    SymptomKind.DIFFERS: "differs",
    SymptomKind.MISSING: "is missing",
    SymptomKind.EXTRA: "is extra",
    SymptomKind.UNHEALTHY: "is not healthy",
    SymptomKind.RESULT: "fails to sync",
}
_OF_THE_APP: Final = {
    APP_DIFFERS: "the app is OutOfSync",
    APP_UNHEALTHY: "the app is not healthy",
    OPERATION: "the sync does not succeed",
}


def in_words(sign: SymptomId) -> str:
    """`Deployment shop/web differs`."""
    if sign.key is not None:
        place = "/".join(part for part in (sign.key.namespace, sign.key.name) if part)
        return f"{sign.key.kind} {place} {_OF_A_RESOURCE[sign.kind]}"
    return _OF_THE_APP.get(sign) or f"condition {sign.detail}"


_MOST_SYNCS: Final = 40
"""So many syncs of one app in one run are a war, and enough of it has been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    at: datetime
    sync: str
    health: str
    signs: Signs
    number: int = 0
    """Of Argo CD's moments before it: within one instant, they tell the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedAction:
    """What somebody did to the world, in words; `refused` is what came back, where it failed."""

    at: datetime
    text: str
    refused: str = ""
    number: int = 0


class Observer:
    def __init__(self, world: SimulatedCase) -> None:
        self.world = world
        self.began = world.simulation.clock.now
        self.glimpses: list[Sample] = []
        self.deeds: list[ObservedAction] = []
        self._seen: Object | None = None
        self.look()
        world.simulation.timeline.settle()
        self.look()
        self.at_first = self.signs
        """What is to be seen once Argo CD has looked; the first glimpse is what the facts say."""

    @property
    def now(self) -> datetime:
        return self.world.simulation.clock.now

    @property
    def moments(self) -> list[TraceEvent]:
        """What Argo CD did since the beginning; of this app."""
        return [one for one in self.world.simulation.argocd.trace if one.app == self.world.app]

    @property
    def starts(self) -> list[datetime]:
        """Of syncs."""
        return [moment.at for moment in self.moments if moment.what is TraceKind.STARTED]

    @property
    def signs(self) -> Signs:
        return self.glimpses[-1].signs

    def look(self) -> None:
        """Keeps what is to be seen, where that has changed."""
        body = self.world.simulation.argocd.applications.get(self.world.app)
        if body is None or body is self._seen:
            return
        self._seen = body
        sync, health = self.world.codes
        glimpse = Sample(
            at=self.now, sync=sync, health=health, signs=signs_of(self.world), number=len(self.moments)
        )
        last = self.glimpses[-1] if self.glimpses else None
        if last is None or (last.sync, last.health, last.signs) != (
            glimpse.sync,
            glimpse.health,
            glimpse.signs,
        ):
            self.glimpses.append(glimpse)

    def run(self, duration: timedelta, until: Callable[[], bool] | None = None) -> bool:
        """Lets time pass; true where `until` came to hold. Raises `TimelineNeverSettles`."""

        def holds() -> bool:
            self.look()
            return (until is not None and until()) or len(self.starts) > _MOST_SYNCS

        self.world.until(holds, duration)
        self._seen = None  # objects may have changed though the Application has not
        self.look()
        return until is not None and until()

    def since(self, instant: datetime) -> list[Sample]:
        """What was seen from then on, with what was to be seen just then."""
        later = [glimpse for glimpse in self.glimpses if glimpse.at > instant]
        before = [glimpse for glimpse in self.glimpses if glimpse.at <= instant]
        return [*before[-1:], *later]

    # --- what is so now --------------------------------------------------------------------------

    @property
    def is_calm(self) -> bool:
        """Synced and healthy, and nothing under way."""
        return not self.world.is_operating and self.world.codes == ("Synced", "Healthy") and not self.signs

    @property
    def is_busy(self) -> bool:
        """A sync runs, or something is on its way up."""
        return self.world.is_operating or self.world.codes[1] == "Progressing"

    @property
    def sync_ended(self) -> bool:
        return not self.world.is_operating

    def lasting(self, signs: Signs, since: datetime) -> Signs:
        """Those that are to be seen at the end, or that came back at least once, from an instant on.

        An operation that merely runs is no sign of trouble, as long as it ends.
        """
        seen = self.since(since)
        found = set(signs & self.signs)
        for sign in signs - found - {OPERATION}:
            back = any(sign not in before.signs and sign in after.signs for before, after in pairwise(seen))
            if back or self._flickers(sign, since):
                found.add(sign)
        return frozenset(found)

    def _flickers(self, sign: SymptomId, since: datetime) -> bool:
        """Did it come and go within one instant? Self-heal may put right at once what it sees."""
        moments = [moment for moment in self.moments if moment.at > since]
        differed = {
            moment.at
            for moment in moments
            if moment.what is TraceKind.STATUS and moment.status == "OutOfSync"
        }
        if sign == APP_DIFFERS:
            return bool(differed)
        return any(
            sign == SymptomId.differs(moment.about.key) and not moment.text.endswith("unchanged")
            for moment in moments
            if moment.what is TraceKind.RESULT and moment.about is not None and moment.at in differed
        )

    def held_until(self, signs: Signs, since: datetime, end: datetime) -> bool:
        """Was none of them to be seen from one instant to the other?"""
        return not any(signs & one.signs for one in self.since(since) if one.at <= end)

    def deed(self, words: str, refused: str = "") -> None:
        self.deeds.append(ObservedAction(at=self.now, text=words, refused=refused, number=len(self.moments)))


def still_differing(world: SimulatedCase, symptoms: Iterable[SymptomId]) -> frozenset[SymptomId]:
    """Of these symptoms, those of fields that differ at present."""
    snapshot = snapshot_of(world.simulation)
    application = next(
        (application for application in snapshot.applications if application.ref.place == world.app), None
    )
    if application is None:
        return frozenset()
    app = decode(application.body, Application)[0] or Application()
    case = Case(SnapshotIndex(snapshot), application, app)
    return frozenset(drift.symptom for drift in case.drifts) & frozenset(symptoms)


_MOST: Final = 3


def no_comparison(world: SimulatedCase) -> str:
    """Why Argo CD could not compare the app in this world."""
    told = [text(dig(condition, "message")) for condition in items(world.status.get("conditions"))]
    return told[0] if told else "nothing tells why"


def disagreement(world: SimulatedCase) -> list[str]:
    """Each in a sentence; of a world that was only just looked at."""
    case = world.case
    found: list[str] = []
    for row in items(world.status.get("resources")):
        key = Key(*(text(dig(row, part)) for part in ("group", "kind", "namespace", "name")))
        before = case.rows.get(key)
        if before is None or before.hook:
            continue
        now = text(dig(row, "status"))
        if before.status == "OutOfSync" and now == "Synced":
            found.append(f"what differs in {before.ref} cannot be seen in the facts")
        elif before.status == "Synced" and now == "OutOfSync":
            found.append(f"the facts show a difference in {before.ref} that Argo CD does not see")
    if len(found) > _MOST:
        return [*found[: _MOST - 1], f"and {len(found) - _MOST + 1} resources more"]
    return found


_READY = ("readyReplicas", "numberReady", "succeeded")


def unseen_images(world: SimulatedCase) -> list[str]:
    """Of the pods that run in this world, those that ran nowhere in the facts."""
    pods = [obj for obj in world.simulation.api_server.objects() if obj.get("kind") == "Pod"]
    run = {image for pod in pods for image in _images(fields(pod.get("spec")))}
    return sorted(run - _seen(world.case) - _ran(world))


def _ran(world: SimulatedCase) -> set[str]:
    """Of versions whose pods are gone, and that ran until the present one came."""
    found: set[str] = set()
    for desired_object in world.part.desired:
        before = (
            previous_revision_of(world.case, desired_object.ref)
            if desired_object.ref.kind == "Deployment"
            else None
        )
        if before is not None and not before.still_runs:
            found |= set(_images(fields(dig(before.manifest.spec, "template", "spec"))))
    return found


def _seen(case: Case) -> set[str]:
    found: set[str] = set()
    for live in case.index.snapshot.live:
        if live.ref.kind == "Pod":
            found |= set(_running(live.body))
        elif any(integer(live.status.get(count)) > _older(live.status) for count in _READY):
            found |= set(_images(fields(dig(live.spec, "template", "spec"))))
    return found


def _older(status: Object) -> int:
    """Pods of a Deployment that are of an older template: these may be the ones that are ready."""
    updated = status.get("updatedReplicas")
    total = integer(status.get("replicas"))
    return max(total - integer(updated), 0) if total and "observedGeneration" in status else 0


def _running(pod: Object) -> Iterator[str]:
    """Of containers that are ready, or ended well."""
    by_name = {
        text(dig(one, "name")): text(dig(one, "image"))
        for group in ("initContainers", "containers")
        for one in items(dig(pod, "spec", group))
    }
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            ended = dig(raw, "state", "terminated", "exitCode")
            if dig(raw, "ready") is True or ended == 0:
                yield by_name.get(text(dig(raw, "name")), "")


def _images(pod: Object) -> Iterator[str]:
    for group in ("initContainers", "containers"):
        yield from (text(dig(one, "image")) for one in items(pod.get(group)))


def is_unready(pod: Manifest) -> bool:
    """One that is to run, and does not yet."""
    if pod.status.get("phase") not in ("Pending", "Running"):
        return False
    return not is_ready(pod.body)

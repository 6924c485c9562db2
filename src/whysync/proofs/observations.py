"""What Argo CD shows of the app in a simulated world, as signs that compare with the symptoms of a Case.

A sign is a symptom without its details: `differs:apps/Deployment/shop/web` whatever the field, and
`condition:SyncError` wherever it stands in the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.argocd.health.assess import health_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.messages_of_case import FAILED_PHASES
from whysync.diagnosis.symptom import (
    APP_DIFFERS,
    APP_UNHEALTHY,
    NO_CONDITION,
    OPERATION,
    Symptom,
    SymptomId,
    SymptomKind,
)
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import Key
from whysync.proofs.world import SimulatedCase

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
    resource = world.simulation.model.discovery.of_object(kind)
    if resource is None:
        return None
    space = text(row.get("namespace")) if resource.namespaced else ""
    return world.simulation.model.store.get((resource.store, space, text(row.get("name"))))


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
        case SymptomKind.EVENT:
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

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
from whysync.diagnosis.symptom import Symptom, SymptomKind
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import Key
from whysync.proofs.world import SimulatedCase

Signs = frozenset[str]
DIFFERS: Final = "differs"
"""The app is OutOfSync, whatever makes it so."""
UNHEALTHY: Final = "unhealthy"
OPERATION: Final = "operation"
_WELL: Final = ("", "Healthy")
_OPEN_PHASES: Final = ("Running", "Terminating")


def signs_of(world: SimulatedCase) -> Signs:
    """All that is not as it should be; nothing, of an app that is well."""
    return frozenset(_signs(world))


def _signs(world: SimulatedCase) -> Iterator[str]:
    status = world.status
    for raw in items(status.get("conditions")):
        yield f"condition:{text(dig(raw, 'type'))}"
    sync, health = world.codes
    if sync == "OutOfSync":
        yield DIFFERS
    if health not in _WELL:
        yield UNHEALTHY
    yield from _of_operation(world)
    for raw in items(status.get("resources")):
        row = fields(raw)
        key = key_of(row)
        live = live_object(world, row)
        # A row that is left out of account (IgnoreExtraneous) is OutOfSync in an app that is Synced.
        if row.get("status") == "OutOfSync" and sync == "OutOfSync":
            if row.get("requiresPruning") is True:
                yield f"extra:{key}"
            elif live is None:
                yield f"missing:{key}"
            else:
                yield f"differs:{key}"
        if live is not None and health not in _WELL and _health(world, row, live) not in (*_WELL, "Missing"):
            yield f"unhealthy:{key}"


def _of_operation(world: SimulatedCase) -> Iterator[str]:
    state = world.operation
    if world.is_operating or text(state.get("phase")) in (*FAILED_PHASES, *_OPEN_PHASES):
        yield OPERATION
    yield from failures_in(world)


def failures_in(world: SimulatedCase) -> dict[str, str]:
    """The signs of resources that failed to sync, each with the words."""
    found: dict[str, str] = {}
    for raw in items(dig(world.operation, "syncResult", "resources")):
        result = fields(raw)
        if result.get("status") == "SyncFailed" or result.get("hookPhase") in FAILED_PHASES:
            found[f"result:{key_of(result)}"] = text(result.get("message"))
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


def signs_for(case: Case, symptoms: Iterable[str]) -> Signs:
    """The signs by which these symptoms of a Case would show; those of events and logs have none."""
    by_id = {symptom.id: symptom for symptom in case.symptoms}
    keys = {drift.symptom: drift.key for drift in case.drifts}
    found = (_sign(by_id[id], keys.get(id)) for id in symptoms if id in by_id)
    return frozenset(sign for sign in found if sign)


def _sign(symptom: Symptom, key: Key | None) -> str:
    match symptom.kind:
        case SymptomKind.CONDITION:
            return ":".join(symptom.id.split(":")[:2]) if symptom.id != "condition:none" else ""
        case SymptomKind.OPERATION:
            return OPERATION
        case SymptomKind.DIFFERS | SymptomKind.MISSING | SymptomKind.EXTRA | SymptomKind.UNHEALTHY:
            found = key or (symptom.ref.key if symptom.ref is not None else None)
            if found is None:
                return UNHEALTHY if symptom.kind is SymptomKind.UNHEALTHY else DIFFERS
            return f"{symptom.kind.value}:{found}"
        case SymptomKind.RESULT:
            return symptom.id  # the key as the sync gives it: with a namespace also for what has none
        case SymptomKind.EVENT:
            return _of_event(symptom)
        case SymptomKind.LOG | SymptomKind.BEHIND | SymptomKind.STALE:
            return ""


def _of_event(symptom: Symptom) -> str:
    """An event about a resource of the app shows in its health; of pods, their owner's health tells."""
    ref = symptom.ref
    if ref is None or not symptom.because or ref.kind in ("Pod", "ReplicaSet"):
        return ""
    return f"unhealthy:{ref.key}"


def in_words(sign: str) -> str:
    """`Deployment shop/web differs`."""
    kind, _, rest = sign.partition(":")
    if not rest:
        return {
            DIFFERS: "the app is OutOfSync",
            UNHEALTHY: "the app is not healthy",
            OPERATION: "the sync does not succeed",
        }.get(kind, kind)
    if kind == "condition":
        return f"condition {rest}"
    _, _, tail = rest.partition("/")
    parts = tail.split("/")
    name = f"{parts[0]} {'/'.join(part for part in parts[1:] if part)}" if len(parts) > 1 else rest
    words = {
        "differs": f"{name} differs",
        "missing": f"{name} is missing",
        "extra": f"{name} is extra",
        "unhealthy": f"{name} is not healthy",
        "result": f"{name} fails to sync",
    }
    return words.get(kind, sign)

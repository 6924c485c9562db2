"""The resource of the Application that owns an object, such as the Deployment of a Pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MAX_OWNERS = 6


def owning_row(case: Case, manifest: Manifest) -> Ref | None:
    """The resource or hook of the app in the object's chain of owners, or the object itself."""
    at: Manifest | None = manifest
    for _ in range(_MAX_OWNERS):
        if at is None:
            return None
        own = _row(case, at.ref.kind, at.ref.namespace, at.ref.name)
        if own is not None:
            return own
        owner = fields(next(iter(items(at.meta.get("ownerReferences"))), None))
        kind, name = text(owner.get("kind")), text(owner.get("name"))
        named = _row(case, kind, at.ref.namespace, name)
        if named is not None:
            return named
        at = case.live_named(kind, at.ref.namespace, name) if name else None
    return None


def owning_row_of(case: Case, ref: Ref) -> Ref | None:
    """The resource or hook of the app that owns an object known only by name, as from an event."""
    live = case.live_named(ref.kind, ref.namespace, ref.name)
    return (owning_row(case, live) if live is not None else None) or row_named(case, ref)


def row_named(case: Case, ref: Ref) -> Ref | None:
    """The resource or hook with this kind and name: events may omit the API group."""
    return _row(case, ref.kind, ref.namespace, ref.name)


def _row(case: Case, kind: str, namespace: str, name: str) -> Ref | None:
    for row in (*case.app.status.resources, *case.results):
        if (row.kind, row.name) == (kind, name) and row.namespace in ("", namespace):
            return row.ref
    return None


def symptoms_about(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """The symptoms of one resource, and of the operation if it waits for this resource."""
    own = [symptom.id for symptom in case.symptoms if symptom.ref is not None and _is_same(symptom.ref, ref)]
    operation = case.operation
    waits = (
        operation is not None
        and operation.phase == "Running"
        and OPERATION in case.symptom_ids
        and any(r.key == ref.key and r.hook_phase == "Running" for r in case.results)
    )
    return (*own, *((OPERATION,) if waits else ()))


def _is_same(reported: Ref, ref: Ref) -> bool:
    """Events that were printed do not give the API group of their object."""
    if reported.group:
        return reported.key == ref.key
    return (reported.kind, reported.namespace, reported.name) == (ref.kind, ref.namespace, ref.name)


def symptoms_of_named_pods(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """Symptoms of Pods that have the name of the workload, where the facts do not show their owner."""
    prefix = f"{ref.name}-"
    return tuple(
        symptom.id
        for symptom in case.symptoms
        if symptom.ref is not None
        and (symptom.ref.kind, symptom.ref.namespace) == ("Pod", ref.namespace)
        and symptom.ref.name.startswith(prefix)
    )

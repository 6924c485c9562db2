"""From a Pod up to the resource of the Application that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_HIGHEST = 6


def owning_row(case: Case, manifest: Manifest) -> Ref | None:
    """The row or hook at the top of its chain of owners; itself, where it is one."""
    at: Manifest | None = manifest
    for _ in range(_HIGHEST):
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
    """The row or hook that an object, known by name from an event, belongs to."""
    live = case.live_named(ref.kind, ref.namespace, ref.name)
    return (owning_row(case, live) if live is not None else None) or row_named(case, ref)


def row_named(case: Case, ref: Ref) -> Ref | None:
    """The row or hook of that kind and name: events do not always tell the API group."""
    return _row(case, ref.kind, ref.namespace, ref.name)


def _row(case: Case, kind: str, namespace: str, name: str) -> Ref | None:
    for row in (*case.app.status.resources, *case.results):
        if (row.kind, row.name) == (kind, name) and row.namespace in ("", namespace):
            return row.ref
    return None


def symptoms_about(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """All that is wrong with one resource, and the operation where that waits for it."""
    own = [symptom.id for symptom in case.symptoms if symptom.ref is not None and symptom.ref.key == ref.key]
    operation = case.operation
    waits = (
        operation is not None
        and operation.phase == "Running"
        and OPERATION in case.symptom_ids
        and any(r.key == ref.key and r.hook_phase == "Running" for r in case.results)
    )
    return (*own, *((OPERATION,) if waits else ()))

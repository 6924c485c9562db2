"""An object that the sync was about to change does not exist any more.

## What happens
Argo CD compares, then changes what differs. If an object is deleted in between, by a person, a controller or
another tool, the API server answers that it is not found, and the sync fails.

## How whysync knows
The API server answers `… not found` for an object of the sync, and not for one that it refers to.

## Fix
Refresh, and sync again: the object is then created. If it is deleted again, find the program that does it.

## When it is something else
A Secret, ConfigMap or ServiceAccount that is referred to: dependency-missing. A namespace: namespace-missing.
A kind that the cluster does not serve: missing-crd.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, rule
from whysync.messages.patterns.apply import ObjectMissing
from whysync.queries.commands import refresh, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

OF_SYNC = frozenset({SymptomKind.OPERATION, SymptomKind.RESULT, SymptomKind.CONDITION})


@rule(cause="deleted-live", since="0.1", last_resort=True)
def object_gone_during_sync(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ObjectMissing, by=lambda failure: failure.resource):
        if OF_SYNC.isdisjoint(id.kind for id in group.explains):
            continue
        ref = named_ref(case, group.failure.resource, group.ref)
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.WARNING,
            confidence=Confidence.LOW,
            verdict=f"{ref} was deleted before the sync could change it",
            evidence=group.cited(says="the API server does not find it"),
            fixes=(
                Fix.run(
                    refresh(case),
                    sync(case),
                    title="Refresh and sync again; if it is deleted again, find the program that does it",
                ),
            ),
        )

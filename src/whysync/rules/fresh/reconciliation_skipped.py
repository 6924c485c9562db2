"""Reconciling is switched off for this app by an annotation.

## What happens
`argocd.argoproj.io/skip-reconcile: "true"` on the Application makes the controller leave it alone: no
comparison, no sync, no health. What the status says stays as it was, however the cluster or Git change, and
operations that are asked for never start.

## How whysync knows
The annotation is there, with a value that Argo CD reads as true.

## Fix
Remove the annotation, and Argo CD looks again within moments. If somebody set it on purpose (a migration,
work by hand), ask first.

## When it is something else
No annotation, and still nobody looks: the controller is stuck or does not serve this app.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, SymptomKind, cite, rule
from whysync.diagnosis.freshness import SKIP_RECONCILE
from whysync.diagnosis.symptom import RECONCILIATION_SKIPPED
from whysync.kubernetes.api.pointer import join
from whysync.queries.timestamps import age_text

POINTER = join(("metadata", "annotations", SKIP_RECONCILE))


@rule(cause="skip-reconcile", since="0.1")
def reconciliation_skipped(case: Case) -> Iterator[Finding]:
    if RECONCILIATION_SKIPPED not in case.symptom_ids:
        return
    behind = tuple(s.id for s in case.symptoms if s.kind is SymptomKind.BEHIND)
    others = [s for s in case.symptoms if s.id != RECONCILIATION_SKIPPED]
    operation_requested = case.app.operation is not None
    yield Finding(
        about=case.application.ref,
        field=POINTER,
        explains=(RECONCILIATION_SKIPPED, *behind),
        severity=Severity.WARNING if others or operation_requested else Severity.INFO,
        confidence=Confidence.HIGH,
        verdict=f"reconciling is switched off for this app: {_how_old(case)}{_unseen(case)}"
        + (", and the operation that was asked for will not start" if operation_requested else ""),
        evidence=(
            cite(case.application, POINTER, says="the controller leaves it alone"),
            cite(case.application, "/status/reconciledAt", says="it was last compared then"),
        ),
        fixes=(
            Fix.application(
                case.application.ref,
                Remove(pointer=POINTER),
                title="Let Argo CD look again",
                risk="with auto-sync on, it acts at once on all that changed meanwhile",
            ),
        ),
    )


def _how_old(case: Case) -> str:
    age = case.age(case.app.status.reconciled_at)
    old = age is not None and age >= timedelta(minutes=1)
    return f"its status is {age_text(age)} old" if old else "its status is as old as that"


def _unseen(case: Case) -> str:
    """The commit that people wait for."""
    behind = [symptom.text for symptom in case.symptoms if symptom.kind is SymptomKind.BEHIND]
    return f"; {behind[0]}" if behind else ""

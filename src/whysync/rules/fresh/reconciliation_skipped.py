"""Reconciliation of this app is disabled by an annotation.

## What happens
With `argocd.argoproj.io/skip-reconcile: "true"` on the Application, the controller ignores it: no comparison,
no sync, no health. Its status stays as it was, however the cluster or Git change, and requested operations
never start.

## How whysync knows
The annotation is set to a value that Argo CD reads as true.

## Fix
Remove the annotation; Argo CD then reconciles within moments. If somebody set it on purpose (a migration,
manual work), ask first.

## When it is something else
Without the annotation, an app that is not reconciled has a controller that is stuck or does not serve it.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, SymptomKind, cite, rule
from whysync.diagnosis.freshness import SKIP_RECONCILE
from whysync.diagnosis.symptom import RECONCILIATION_SKIPPED
from whysync.kubernetes.api.pointer import join
from whysync.queries.sources import is_commit
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
        verdict=f"reconciliation is disabled for this app: {_status_age(case)}{_new_commit(case)}"
        + (", and the requested operation will not start" if operation_requested else ""),
        evidence=(
            cite(case.application, POINTER, says="the controller skips the app"),
            cite(case.application, "/status/reconciledAt", says="when it was last reconciled"),
        ),
        fixes=(
            Fix.application(
                case.application.ref,
                Remove(pointer=POINTER),
                title="Remove the annotation, so that Argo CD reconciles the app",
                risk=_risk(case),
            ),
        ),
    )


def _risk(case: Case) -> str:
    """What Argo CD does as soon as it reconciles the app again."""
    old = case.app.status.sync.revision
    new = case.app.spec.source.target_revision if case.app.spec.source is not None else ""
    commits = f" (git log {old[:8]}..{new or 'HEAD'} lists the commits)" if is_commit(old) else ""
    if case.app.operation is not None:
        return f"the requested operation starts immediately{commits}"
    if not case.is_automated:
        return ""
    automated = case.app.spec.sync_policy.automated
    pruned = ", and what Git no longer has is pruned" if automated is not None and automated.prune else ""
    return f"auto-sync is on: everything that changed in the meantime is synced immediately{pruned}{commits}"


def _status_age(case: Case) -> str:
    age = case.age(case.app.status.reconciled_at)
    old = age is not None and age >= timedelta(minutes=1)
    return f"its status is {age_text(age)} old" if old else "its status is not updated"


def _new_commit(case: Case) -> str:
    """The commit that is not compared."""
    behind = [symptom.text for symptom in case.symptoms if symptom.kind is SymptomKind.BEHIND]
    return f"; {behind[0]}" if behind else ""

"""Argo CD does not show a failure of an object that its own conditions report.

## What happens
A health check stops at the first condition that it knows. An object that was ready once stays `Ready`, so the
check reports Healthy, while another condition (`Synced`, `Reconciled`) reports that the last change was
refused. The app is Synced and Healthy, and what was changed in Git is not in effect. A kind without a
health check has no health at all: the app is Healthy whatever its objects report.

## How whysync knows
The row is Healthy. A condition of the live custom resource is not met, and its reason is a failure, such as
`ReconcileError`. Or the row has no health, Argo CD has no check for the kind, and its status reports a
failure: a condition that is not met, also one of a list, a failed phase, or an error.

## Fix
Correct what the condition reports. Replace the health check in `argocd-cm` by one that reads this condition
before `Ready`, so that Argo CD shows the next failure.

## When it is something else
If the row is not Healthy, its own rules explain it.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import HealthCode, ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.object_states import FAILED_REASONS, ObjectState
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.messages.benign import reports_progress
from whysync.queries.commands import comment, on_object
from whysync.queries.operator_remedies import in_short
from whysync.queries.reason_chain import chain_evidence, fails_below, last_reason, reason_chain, symptoms_on


@rule(cause="degraded-workload", since="0.1", last_resort=True)
def failure_behind_healthy(case: Case) -> Iterator[Finding]:
    seen: set[Key] = set()
    for state in case.object_states:
        row = case.rows.get(state.manifest.key)
        if row is None or row.key in seen or state.is_vague or state.symptom not in case.symptom_ids:
            continue
        chain = reason_chain(case, row.ref)
        unchecked = _is_unchecked(case, row, state.manifest) and (
            not case.synced_recently or fails_below(chain) or not reports_progress(state.text)
        )
        hidden = state.reason.endswith(FAILED_REASONS) and _is_healthy(case, row, state.manifest)
        if not hidden and not unchecked:
            continue
        seen.add(row.key)
        others = tuple(
            symptom.id
            for symptom in case.symptoms
            if symptom.kind is state.symptom.kind and symptom.ref == state.manifest.ref
        )
        ref = row.ref
        chain = chain if unchecked else ()
        reason = last_reason(chain)
        text = reason.text if reason is not None else state.text
        yield Finding(
            about=ref,
            explains=tuple(dict.fromkeys((state.symptom, *others, *symptoms_on(case, chain)))),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=(
                f"{ref} is not ready, but the app is Healthy: Argo CD has no health check for it: "
                if unchecked
                else f"{ref} is Healthy for Argo CD, but {_place(state)} reports a failure: "
            )
            + (f"{chain[-1].ref}: " if len(chain) > 1 else "")
            + in_short(text),
            root=text,
            evidence=(
                case.cited_row(row, says="Argo CD reports no health" if unchecked else "Argo CD's health"),
                cite(state.manifest, state.pointer, says=_place(state)),
                *(e for e in chain_evidence(chain) if e.pointer != state.pointer),
            ),
            fixes=(
                Fix.run(on_object("describe", ref), title="Correct what its status reports"),
                Fix.run(
                    comment(f"in argocd-cm: resource.customizations.health.{ref.group}_{ref.kind}"),
                    "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                    title="Write a health check that reads it, and test it"
                    if unchecked
                    else "Let the health check read this condition before Ready, and test it",
                    risk="a health check applies to all objects of the kind",
                ),
            ),
        )


def _place(state: ObjectState) -> str:
    return f"condition {state.symptom.detail}" if "/conditions/" in state.pointer else state.symptom.detail


def _is_healthy(case: Case, row: ResourceRow, live: Manifest) -> bool:
    """In the status of the app; Argo CD 3 does not keep it there, then by Argo CD's own check."""
    code = health_of_row(case, row)[0]
    verdict = case.health_of(live) if not code else None
    return code == HealthCode.HEALTHY or (verdict is not None and verdict.code == HealthCode.HEALTHY)


def _is_unchecked(case: Case, row: ResourceRow, live: Manifest) -> bool:
    """A custom resource that Argo CD has no health for, in a Healthy app.

    If the check that Argo CD ships now reports it as Degraded, the app was compared without that check.
    """
    if is_builtin(row.ref) or health_of_row(case, row)[0]:
        return False
    verdict = case.health_of(live)
    of_app = case.app.status.health.status
    return of_app == HealthCode.HEALTHY and (verdict is None or verdict.code == HealthCode.DEGRADED)

"""Argo CD reports an object as Healthy, but its controller could not apply the last change.

## What happens
A health check stops at the first condition that it knows. An object that was ready once stays `Ready`, so the
check reports Healthy, while another condition (`Synced`, `Reconciled`) reports that the last change was
refused. The app is Synced and Healthy, and what was changed in Git is not in effect.

## How whysync knows
The row is Healthy. A condition of the live custom resource is not met, and its reason is a failure, such as
`ReconcileError`.

## Fix
Correct what the condition reports. Replace the health check in `argocd-cm` by one that reads this condition
before `Ready`, so that Argo CD shows the next failure.

## When it is something else
If the row is not Healthy, its own rules explain it.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import HealthCode, ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.object_states import FAILED_REASONS
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.queries.commands import comment, on_object
from whysync.queries.operator_remedies import in_short


@rule(cause="degraded-workload", since="0.1", last_resort=True)
def failure_behind_healthy(case: Case) -> Iterator[Finding]:
    seen: set[Key] = set()
    for state in case.object_states:
        row = case.rows.get(state.manifest.key)
        if row is None or row.key in seen or state.symptom not in case.symptom_ids:
            continue
        if not state.reason.endswith(FAILED_REASONS) or not _is_healthy(case, row, state.manifest):
            continue
        seen.add(row.key)
        others = tuple(
            symptom.id
            for symptom in case.symptoms
            if symptom.kind is state.symptom.kind and symptom.ref == state.manifest.ref
        )
        ref = row.ref
        yield Finding(
            about=ref,
            explains=tuple(dict.fromkeys((state.symptom, *others))),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=f"{ref} is Healthy for Argo CD, but its last change failed: {in_short(state.text)}",
            root=state.text,
            evidence=(
                case.cited_row(row, says="Argo CD's health"),
                cite(state.manifest, state.pointer, says=f"condition {state.symptom.detail}"),
            ),
            fixes=(
                Fix.run(on_object("describe", ref), title="Correct what the condition reports"),
                Fix.run(
                    comment(f"in argocd-cm: resource.customizations.health.{ref.group}_{ref.kind}"),
                    "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                    title="Let the health check read this condition before Ready, and test it",
                    risk="a health check applies to all objects of the kind",
                ),
            ),
        )


def _is_healthy(case: Case, row: ResourceRow, live: Manifest) -> bool:
    """In the status of the app; Argo CD 3 does not keep it there, then by Argo CD's own check."""
    code = health_of_row(case, row)[0]
    verdict = case.health_of(live) if not code else None
    return code == HealthCode.HEALTHY or (verdict is not None and verdict.code == HealthCode.HEALTHY)

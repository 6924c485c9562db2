"""A rollout is in progress and within its deadline.

## What happens
A sync has just finished or still runs, and its workloads are starting: they are Progressing. Kubernetes gives
a Deployment ten minutes (`progressDeadlineSeconds`) before it reports the rollout as failed.

## How whysync knows
The resource is Progressing, the last sync is less than ten minutes old, and no other rule has found a problem
with it.

## Fix
Wait, and check again after the ten minutes.

## When it is something else
A container that crashes, an image that cannot be pulled and an unschedulable Pod are reported by their own
rules, however recent the rollout is.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.queries.commands import app_argument


@rule(cause="wave-in-progress", since="0.1", last_resort=True, on_absence=True)
def rollout_in_progress(case: Case) -> Iterator[Finding]:
    rows = [
        row
        for row in case.rows_with(SymptomKind.UNHEALTHY)
        if health_of_row(case, row)[0] == "Progressing" and (row.health is not None or not _has_failed(case))
    ]
    if not rows or not case.synced_recently:
        return
    more = and_more(len(rows) - 1)
    yield Finding(
        about=rows[0].ref,
        explains=tuple(SymptomId.unhealthy(row.key) for row in rows),
        because=(OPERATION,) if OPERATION in case.symptom_ids else (),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{rows[0].ref}{more} is still Progressing after a recent sync: wait",
        evidence=(
            *(case.cited_health(row, "Progressing") for row in rows[:5]),
            cite(case.application, f"/status/operationState/{_end(case)}", says="the sync is recent"),
        ),
        fixes=(Fix.run(_wait(case, rows), title="Wait, and check again"),),
    )


def _has_failed(case: Case) -> bool:
    """After a failed sync nothing more is applied: a resource of a later wave was never reached."""
    return case.operation is not None and case.operation.phase in ("Failed", "Error")


def _wait(case: Case, rows: list[ResourceRow]) -> str:
    """Waits for the whole app, or only for these resources if another one does not become healthy."""
    symptoms = {id for id in case.symptom_ids if id.kind is SymptomKind.UNHEALTHY}
    others = symptoms - {SymptomId.unhealthy(row.key) for row in rows}
    resources = [f"--resource {quote(f'{row.group}:{row.kind}:{row.ref.place}')}" for row in rows[:5]]
    return " ".join(
        ("argocd app wait", app_argument(case), "--health --timeout 600", *(resources if others else ()))
    )


def _end(case: Case) -> str:
    return "finishedAt" if case.operation is not None and case.operation.finished_at else "startedAt"

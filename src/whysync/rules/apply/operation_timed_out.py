"""The operation ran longer than Argo CD's limit, and was ended.

## What happens
With a sync time-out set, the controller ends an operation that is older than that, counted from its
start over all retries. What was applied stays; later waves were not applied.

## How whysync knows
`triggered by controller sync timeout`, or `operation is terminating due to timeout`.

## Fix
Find out what it waited for: that is the cause. Raise the limit only if the sync rightly takes so
long.

## When it is something else
A person ended it: then the message does not speak of a time-out.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.awaited import minutes
from whysync.diagnosis.commands import CONTROLLER, argocd_namespace, kubectl, restart, sync
from whysync.diagnosis.grouped import grouped
from whysync.semantics.messages import OperationTerminated

KEY = '{"data":{"controller.sync.timeout.seconds":"3600"}}'


@rule(cause="sync-timeout", since="0.1")
def operation_timed_out(case: Case) -> Iterator[Finding]:
    for group in grouped(case, OperationTerminated):
        if not any(report.failure.by_timeout for report in group.reports):
            continue
        operation = case.operation
        started = operation.started_at if operation else None
        ended = operation.finished_at if operation else None
        took = ended - started if started and ended else case.age(started)
        unwell = tuple(s for s in case.symptoms if s.kind is SymptomKind.UNHEALTHY and s.ref is not None)
        waited = f"; {unwell[0].text}" if unwell else ""
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            because=tuple(symptom.id for symptom in unwell),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD ended the sync after {minutes(took)}: its time limit was reached{waited}",
            evidence=(
                *group.cited(says="the controller ended it"),
                cite(case.application, "/status/operationState/startedAt", says="when it began"),
            ),
            fixes=(
                Fix.run(sync(case), title="Mend what it waited for, then sync again"),
                Fix.run(
                    kubectl(
                        "patch",
                        "configmap",
                        "argocd-cmd-params-cm",
                        "--type=merge",
                        "-p",
                        KEY,
                        namespace=argocd_namespace(case),
                    ),
                    restart(case, CONTROLLER),
                    title="Or raise the limit, if such a sync rightly takes so long",
                    risk="it holds for all Applications; a hanging sync then blocks longer",
                ),
            ),
        )

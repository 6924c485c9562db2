"""The operation ran longer than Argo CD's limit and was ended, or runs far longer than it ever did.

## What happens
With a sync time-out set, the controller ends an operation that is older than that, counted from its
start over all retries. What was applied stays; later waves were not applied. Without a time-out nothing
ends an operation that hangs (a controller that was restarted in the middle of it, a status too large to be
written), and no other sync can begin.

## How whysync knows
`triggered by controller sync timeout`, or `operation is terminating due to timeout`. Or the operation is
Running, does not say what it waits for, and is older than ten minutes and than three times the slowest sync
on record.

## Fix
Find out what it waited for: that is the cause. Raise the limit only if the sync rightly takes so
long.

## When it is something else
A person ended it: then the message does not speak of a time-out. It waits for a hook or a wave: hook-stuck,
wave-stalled.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.awaited import is_running, is_too_long, minutes, slowest_sync, wait_of
from whysync.diagnosis.commands import CONTROLLER, argocd_namespace, kubectl, remark, restart, sync, terminate
from whysync.diagnosis.grouped import grouped
from whysync.semantics.messages import OperationTerminated

SILENT = ("", "one or more tasks are running")
KEY = '{"data":{"controller.sync.timeout.seconds":"3600"}}'


@rule(cause="sync-timeout", since="0.1")
def operation_timed_out(case: Case) -> Iterator[Finding]:
    yield from _hanging(case)
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
                Fix.run(
                    remark("mend what it waited for, then"),
                    sync(case),
                    title="Mend what it waited for, then sync again",
                ),
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


def _hanging(case: Case) -> Iterator[Finding]:
    """It runs on, and says nothing: whatever held it, nobody works on it any more."""
    operation = case.operation
    if operation is None or not is_running(case) or operation.message not in SILENT:
        return
    age, usual = case.age(operation.started_at), slowest_sync(case)
    if wait_of(case) is not None or not is_too_long(age, usual) or "operation" not in case.symptom_ids:
        return
    before = f"; the slowest one before took {minutes(usual)}" if usual is not None else ""
    yield Finding(
        about=case.application.ref,
        explains=("operation",),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"the sync has been running for {minutes(age)} and does not say what it waits for{before}",
        evidence=(
            cite(case.application, "/status/operationState/phase", says="it has not ended"),
            cite(case.application, "/status/operationState/startedAt", says="since when"),
            cite(case.application, "/status/reconciledAt", says="when Argo CD last looked"),
        ),
        fixes=(
            Fix.run(
                terminate(case),
                sync(case),
                title="End the operation, then sync again",
                risk="what it has applied so far stays; hooks that still run are deleted",
            ),
            Fix.run(
                restart(case, CONTROLLER),
                title="If it cannot be ended: restart the application controller",
                risk="all apps are compared anew: a burst of load",
            ),
        ),
    )

"""A sync was refused because another operation of the Application is still running.

## What happens
An Application runs one operation at a time. While one runs, waits for a hook or a wave, or waits for its next
retry, Argo CD refuses every other sync, rollback and termination of a finished one.

## How whysync knows
`another operation is already in progress`, in the answer of Argo CD's API server or in a log.

## Fix
Wait for the running operation, or terminate it and sync again. If it never ends, what it waits for is the
cause: a hook that does not finish, a wave that does not become healthy.

## When it is something else
The Application's own operation is in the facts and says what it waits for: hook-stuck, wave-stalled.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.symptom import OPERATION
from whysync.messages.patterns.operations import OperationInProgress
from whysync.queries.commands import app_argument, sync, terminate, with_comment
from whysync.queries.group_failures import grouped


@rule(cause="operation-pinned", since="0.1")
def another_operation_running(case: Case) -> Iterator[Finding]:
    for group in grouped(case, OperationInProgress):
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            because=(OPERATION,) if OPERATION in case.symptom_ids else (),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=f"a sync of {case.application.ref} was refused: another operation is still running",
            evidence=group.cited(says="the request was refused"),
            fixes=(
                Fix.run(
                    with_comment(
                        f"argocd app get {app_argument(case)} --show-operation", "what it waits for"
                    ),
                    terminate(case),
                    sync(case),
                    title="Wait for the running operation, or terminate it and sync again",
                    risk="what the terminated operation applied stays",
                ),
            ),
        )

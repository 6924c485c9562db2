"""The running operation syncs an older commit; a fix that was pushed is not part of it.

## What happens
An operation keeps the commit that it was started with through all its retries. While it runs or waits for its
next retry, no other sync starts: a commit with the fix is compared but not applied until the retries are used
up.

## How whysync knows
The operation runs at one commit, and the Application is compared with another.

## Fix
Terminate the operation: auto-sync then syncs the new commit, or you sync manually. `retry.refresh: true`
makes retries use the newest commit.

## When it is something else
The operation is at the newest commit and fails there: then its own failure is the cause.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.json_tree import Object, same
from whysync.queries.commands import sync, terminate
from whysync.queries.last_applied import last_applied_manifest

SYNC_RESULT_REVISION = "/status/operationState/syncResult/revision"
REQUESTED_REVISION = "/status/operationState/operation/sync/revision"
REFRESH = "/spec/syncPolicy/retry/refresh"


@rule(cause="operation-pinned", since="0.1")
def operation_pinned_to_older_commit(case: Case) -> Iterator[Finding]:
    operation = case.operation
    if operation is None or operation.phase != "Running" or OPERATION not in case.symptom_ids:
        return
    pinned, pointer = operation.sync_result.revision if operation.sync_result else "", SYNC_RESULT_REVISION
    if not pinned and operation.operation.sync is not None:
        pinned, pointer = operation.operation.sync.revision, REQUESTED_REVISION
    compared = case.app.status.sync.revision
    if not pinned or not compared or pinned == compared or len(pinned) < 7:
        return
    retrying = operation.finished_at is not None or operation.retry_count > 0
    retry = case.app.spec.sync_policy.retry
    refreshes = retry is not None and retry.refresh
    changed = tuple(_changed_since(case)) if retrying else ()
    blocked = tuple(s.id for s in case.symptoms if OPERATION in s.because) if changed else ()
    yield Finding(
        about=case.application.ref,
        field=None if refreshes or retry is None else REFRESH,
        explains=tuple(dict.fromkeys((OPERATION, *changed, *blocked))),
        severity=Severity.CRITICAL if retrying else Severity.WARNING,
        confidence=Confidence.HIGH if retrying else Confidence.MEDIUM,
        verdict=f"the operation {'retries' if retrying else 'syncs'} {pinned[:8]}, but Git is at"
        f" {compared[:8]}: the newer commit is not synced until it ends",
        evidence=(
            cite(case.application, pointer, says="the commit of the operation"),
            cite(case.application, "/status/sync/revision", says="the commit that was compared"),
            *(
                (cite(case.application, "/status/operationState/message", says="the state of the operation"),)
                if operation.message
                else ()
            ),
        ),
        fixes=(
            Fix.run(
                terminate(case),
                *(() if case.is_automated else (sync(case),)),
                title="Terminate the operation, so that the newer commit is synced",
                risk="what was applied from the old commit stays",
            ),
            *(
                ()
                if refreshes or retry is None
                else (
                    Fix.application(
                        case.application.ref,
                        Set(pointer=REFRESH, value=True),
                        title="Prevention: let retries use the newest commit (retry.refresh)",
                    ),
                )
            ),
        ),
    )


def _changed_since(case: Case) -> Iterator[SymptomId]:
    """Symptoms of what failed at the old commit and is declared differently now: that may be the fix."""
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.RESULT or symptom.ref is None:
            continue
        declared, live = case.desired_of(symptom.ref.key), case.live_of(symptom.ref.key)
        applied = last_applied_manifest(live)
        if declared is not None and applied is not None and not same(_body(declared.body), _body(applied)):
            yield symptom.id
            yield from symptoms_about(case, symptom.ref)


def _body(manifest: Object) -> Object:
    return {key: value for key, value in manifest.items() if key not in ("apiVersion", "metadata", "status")}

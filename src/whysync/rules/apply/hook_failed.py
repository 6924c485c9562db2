"""A sync hook failed.

## What happens
A hook (usually a Job: a migration, a smoke test) ended with an error. A failed PreSync hook stops the sync
before anything else is applied; a failed PostSync hook leaves everything applied and the operation Failed.
Auto-sync does not try the same commit again.

## How whysync knows
The operation's result for the hook is Failed. From there whysync follows the Job's condition, its Pods, the
exit code of the container, and the line of its log that names the reason.

## Fix
Fix the error shown in the log, then sync again. A Job whose hook-delete-policy keeps it must be deleted
first: the next sync would find the failed run and fail immediately. When a Job exceeds its own deadline, its
Pods and their logs are deleted: follow the log while it runs again.

## When it is something else
A hook that could not be created has an API server error as its message. One that never ends is hook-stuck.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, cite_line, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.pods import log_root_cause, logs_below
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import HookFailed
from whysync.messages.patterns.pods import BackoffLimitExceeded, DeadlineExceeded
from whysync.queries.commands import kubectl
from whysync.queries.group_failures import grouped
from whysync.queries.hook_runs import (
    DEADLINE_POINTER,
    RUN_TO_COMPLETION,
    end_evidence,
    ended_with_its_sync,
    fix_of_missing_workloads,
    fixes_of_failed_run,
    how_it_ended,
    job_past_deadline,
    longer_deadline_in_git,
    was_never_created,
    was_terminated_by_timeout,
)
from whysync.queries.log_lines import root_cause_text
from whysync.queries.sync_position import delete_before_next_run, is_deleted_before_next_run
from whysync.queries.waiting_on import is_hook_result

POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"


@rule(cause="hook-failed", since="0.1")
def hook_failed(case: Case) -> Iterator[Finding]:
    yield from _at_deletion(case)
    yield from _of_operation(case)
    for index, result in enumerate(case.results):
        failed = result.hook_phase in FAILED_PHASES and result.status != "SyncFailed"
        if not failed or not is_hook_result(case, result) or was_never_created(result):
            continue
        if ended_with_its_sync(result) and was_terminated_by_timeout(case):
            continue  # it did not fail: the whole sync was terminated
        ref = result.ref
        root_cause = log_root_cause(logs_below(case, ref))
        overdue_job = job_past_deadline(case, ref, result)
        symptom = SymptomId.result(result.key)
        runs = ref.kind in RUN_TO_COMPLETION  # other kinds fail because they became Degraded
        yield Finding(
            about=ref,
            explains=tuple(dict.fromkeys((symptom, *(symptoms_about(case, ref) if runs else ())))),
            because=()
            if runs
            else tuple(id for id in (SymptomId.unhealthy(ref.key),) if id in case.symptom_ids),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{result.hook_type} hook {ref} {how_it_ended(case, result, root_cause, overdue_job)}",
            root=root_cause_text(root_cause.failure) if root_cause else None,
            evidence=tuple(end_evidence(case, index, result, root_cause, overdue_job)),
            fixes=(
                *fixes_of_failed_run(case, ref, root_cause, overdue_job),
                *(() if root_cause is not None else fix_of_missing_workloads(case, result)),
            ),
            already_fixed=longer_deadline_in_git(case, overdue_job),
        )
        yield from _missing_safeguards(case, ref, symptom)


def _of_operation(case: Case) -> Iterator[Finding]:
    """Only the message of the operation reports that a Job of the sync failed."""
    for group in (*grouped(case, BackoffLimitExceeded), *grouped(case, DeadlineExceeded)):
        if OPERATION not in group.explains or case.results:
            continue
        why = one_line(group.failure.text)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM,
            verdict="a Job of the sync, most likely a hook,"
            f" {'would fail' if case.is_predicted else 'failed'}: {why}",
            root=why,
            evidence=group.cited(says="the reason that the sync gives"),
            fixes=(
                Fix.run(
                    kubectl("get", "jobs", namespace=case.destination_namespace),
                    kubectl(
                        "get", "events", "--sort-by", ".lastTimestamp", namespace=case.destination_namespace
                    ),
                    title="Find the Job that failed, and fix the error shown in the log of its Pod",
                ),
            ),
        )


def _at_deletion(case: Case) -> Iterator[Finding]:
    """PreDelete and PostDelete hooks: while one fails, the Application cannot be deleted."""
    for group in grouped(case, HookFailed, by=lambda failure: failure.hook):
        failure = group.failure
        namespace, _, name = failure.hook.partition(",")[0].strip().rpartition("/")
        ref = Ref(group="batch", version="v1", kind="Job", namespace=namespace, name=name) if name else None
        root_cause = log_root_cause(logs_below(case, ref)) if ref else None
        yield Finding(
            about=ref or case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{failure.phase} hook {failure.hook} failed".replace("  ", " ").strip()
            + (f": {root_cause_text(root_cause.failure)}" if root_cause else ""),
            root=root_cause_text(root_cause.failure) if root_cause else None,
            evidence=(
                *group.cited(says="Argo CD's message about the hook"),
                *(
                    (cite_line(root_cause.log, root_cause.failure.line, says="the log line with the reason"),)
                    if root_cause
                    else ()
                ),
            ),
            fixes=(
                Fix.run(
                    kubectl("logs", f"job/{name}" if name else "job/NAME", namespace=namespace),
                    title="Fix the error shown in the log; Argo CD then retries the hook",
                ),
            ),
        )


def _missing_safeguards(case: Case, ref: Ref, symptom: SymptomId) -> Iterator[Finding]:
    """A missing delete policy or deadline: not the cause of this failure, but of the next."""
    job = case.desired_of(ref.key)
    if job is None or ref.kind != "Job":
        return
    kept = not is_deleted_before_next_run(job)
    endless = not isinstance(job.at(DEADLINE_POINTER), int)
    if not (kept or endless):
        return
    problems = [*(["is kept after a failure"] if kept else []), *(["has no deadline"] if endless else [])]
    yield Finding(
        about=ref,
        field=POLICY if kept else DEADLINE_POINTER,
        explains=(symptom,),
        because=(symptom,),
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        verdict=f"{ref} {' and '.join(problems)}: the next failure can block the sync",
        evidence=tuple(
            cite(job, pointer, says=says)
            for applies, pointer, says in (
                (kept, POLICY, "no BeforeHookCreation: an old run blocks the next one"),
                (endless, DEADLINE_POINTER, "no deadline: Argo CD waits until it ends"),
            )
            if applies
        ),
        fixes=(
            Fix.change(
                ref,
                *((delete_before_next_run(job),) if kept else ()),
                *((Set(pointer=DEADLINE_POINTER, value=600),) if endless else ()),
                title="Prevention: set a hook-delete-policy and a deadline",
                risk="the deadline must be longer than its slowest successful run",
            ),
        ),
    )

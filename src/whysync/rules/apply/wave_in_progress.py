"""The sync is still running, and nothing has failed so far.

## What happens
Argo CD applies one phase and wave after the other. Between them it waits for hooks to finish and for
resources to become healthy. Until the last wave is applied, later resources are OutOfSync or missing.

## How whysync knows
The operation is Running, what it waits for exists and reports no failure, and it has not run longer than ten
minutes (or three times the slowest sync in the history).

## Fix
Wait. `argocd app wait` returns when it is done.

## When it is something else
A resource of the wave that is Degraded is wave-stalled; a hook that cannot finish is hook-stuck.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import OPERATION
from whysync.messages.patterns.operations import Awaited
from whysync.queries.commands import app_argument
from whysync.queries.reason_chain import is_unread, reason_chain
from whysync.queries.stuck_wait import why_stuck
from whysync.queries.timestamps import age_text
from whysync.queries.waiting_on import SILENT, is_running, is_too_long, slowest_sync, wait_of


@rule(cause="wave-in-progress", since="0.1", on_absence=True)
def wave_in_progress(case: Case) -> Iterator[Finding]:
    operation = case.operation
    if operation is None or not is_running(case) or OPERATION not in case.symptom_ids:
        return
    wait = wait_of(case)
    age = case.age(operation.started_at)
    if wait is None:
        if operation.message not in SILENT:
            return
        if is_too_long(age, slowest_sync(case)):
            return  # operation_timed_out reports it
        verdict = f"the sync has been running for {age_text(age)}, and nothing has failed so far"
    elif wait.what not in (Awaited.HOOK, Awaited.HEALTH) or why_stuck(case, wait) is not None:
        return
    elif is_unread(case, reason_chain(case, wait.ref)):
        return  # workload_degraded reports it
    else:
        what = "to finish" if wait.what is Awaited.HOOK else "to become healthy"
        more = and_more(wait.others)
        verdict = (
            f"the sync has been running for {age_text(age)} and waits for {wait.ref}{more} {what}:"
            " normal so far"
        )
    yield Finding(
        about=wait.ref if wait else case.application.ref,
        explains=(OPERATION,),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=verdict,
        evidence=(
            cite(case.application, "/status/operationState/phase", says="the operation is running"),
            cite(case.application, "/status/operationState/message", says="what it waits for"),
            cite(case.application, "/status/operationState/startedAt", says="when it started"),
        ),
        fixes=(
            Fix.run(
                f"argocd app wait {app_argument(case)} --operation --timeout 600",
                title="Wait until it is done",
            ),
        ),
    )

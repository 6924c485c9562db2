"""The sync waits for a resource of an early wave that does not become healthy.

## What happens
The next wave starts only when everything in this one is Healthy. One resource that does not become healthy
blocks all later waves: they stay OutOfSync or missing, although nothing is wrong with them. Argo CD waits
without a limit.

## How whysync knows
The operation waits for the resource's health, or failed because of it; and the resource is Degraded or
Suspended, its Pods cannot start, or the operation has been running for more than ten minutes. An operation
without a message waits for the health of what it applied if a PostSync hook has not run yet.

## Fix
The problem of that resource is the cause: fix it. Another sync does not help before. If the resource needs
what a PostSync hook does (a migration, a Secret), run that hook in the Sync phase, in an earlier wave.

## When it is something else
It was only just applied: wave-in-progress. A kind without a health check: no-health-check.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import HealthCode
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.sentences import and_more, listed, one_line
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.json_tree import fields, items
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import Awaited
from whysync.queries.check_commands import pods_and_logs
from whysync.queries.commands import comment, on_object, sync, terminate
from whysync.queries.stuck_wait import StuckWait, why_stuck
from whysync.queries.timestamps import age_text
from whysync.queries.waiting_on import (
    AwaitedObject,
    follows_health,
    is_hook_result,
    wait_of,
    waiting_text,
)


@rule(cause="wave-stalled", since="0.1")
def wave_stalled(case: Case) -> Iterator[Finding]:
    yield from _failed(case)
    wait = wait_of(case)
    if wait is None or wait.what is not Awaited.HEALTH:
        return
    stuck = why_stuck(case, wait)
    if stuck is None:
        return
    yield Finding(
        about=wait.ref,
        explains=(OPERATION, *(() if stuck.certain else _unhealthy_without_reason(case, wait.ref))),
        because=tuple(_unhealthy(case, wait.ref)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if stuck.certain else Confidence.MEDIUM,
        verdict=_verdict(case, wait, stuck),
        root=stuck.reason if stuck.certain else None,
        evidence=tuple(_evidence(case, wait, stuck)),
        fixes=(
            Fix.run(
                on_object("describe", wait.ref) + "   # what keeps it from becoming healthy",
                *pods_and_logs(wait.ref),
                title=f"Get {wait.ref} healthy: the sync continues then by itself",
            ),
            *_hooks_first(case),
            Fix.run(
                comment("push the fix, then"),
                terminate(case),
                title="If the fix is a new commit: terminate the operation, because it blocks the next sync",
                risk="later waves of this sync are not applied",
            ),
        ),
    )


def _verdict(case: Case, wait: AwaitedObject, stuck: StuckWait) -> str:
    awaited = f"{wait.ref}{and_more(wait.others)} to become healthy"
    hooks = _hooks_after(case)
    if wait.reported or case.is_predicted:
        reason = "" if hooks and not stuck.certain else stuck.because
        return f"{waiting_text(case, wait)} {awaited}{reason}{_not_applied(case)}{hooks}"
    return (
        f"the sync has been running for {age_text(wait.age)}, most likely waiting for {awaited}"
        f"{_not_applied(case)}{hooks}"
    )


def _hooks_after(case: Case) -> str:
    """If the resource needs what such a hook does, neither can continue."""
    hooks = follows_health(case)
    if not hooks:
        return ""
    waits = "waits" if len(hooks) == 1 else "wait"
    return f"; PostSync hook {listed(hooks)} {waits} for that: if it needs the hook, neither can continue"


def _hooks_first(case: Case) -> Iterator[Fix]:
    for hook in follows_health(case)[:1]:
        yield Fix.run(
            comment(f"on {hook} in Git, set argocd.argoproj.io/hook: Sync and a sync-wave before it"),
            comment("push it, then"),
            terminate(case),
            title=f"If it needs what {hook} does: run the hook before it, in the Sync phase",
            risk="the hook then runs before the new version is live",
        )


def _failed(case: Case) -> Iterator[Finding]:
    """A resource that became Degraded while the sync still had waves to apply, which fails the operation."""
    for index, result in enumerate(case.results):
        failed = result.hook_phase in FAILED_PHASES and result.status != "SyncFailed"
        if not failed or is_hook_result(case, result):
            continue
        base = f"/status/operationState/syncResult/resources/{index}"
        yield Finding(
            about=result.ref,
            explains=(SymptomId.result(result.key),),
            because=tuple(_unhealthy(case, result.ref)),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{result.ref} {'would become' if case.is_predicted else 'became'} Degraded"
            f" before its wave {'is' if case.is_predicted else 'was'} done"
            + (f": {one_line(result.message)}" if result.message else "")
            + _not_applied(case),
            evidence=(
                cite(case.application, f"{base}/hookPhase", says="the result of this resource"),
                cite(case.application, f"{base}/message", says="Argo CD's message"),
            ),
            fixes=(
                Fix.run(
                    on_object("describe", result.ref) + "   # what is wrong with it",
                    *pods_and_logs(result.ref),
                    sync(case),
                    title=f"Get {result.ref} healthy, then sync again",
                ),
            ),
        )


def _unhealthy_without_reason(case: Case, ref: Ref) -> Iterator[SymptomId]:
    """Its health symptom, if no condition of its own reports what is wrong."""
    live = case.live_of(ref.key)
    conditions = items(live.status.get("conditions")) if live is not None else []
    if live is not None and not any(fields(condition).get("status") == "False" for condition in conditions):
        yield from _unhealthy(case, ref)


def _unhealthy(case: Case, ref: Ref) -> Iterator[SymptomId]:
    yield from (id for id in (SymptomId.unhealthy(ref.key),) if id in case.symptom_ids)


def _not_applied(case: Case) -> str:
    waiting = [row.ref for row in case.app.status.resources if row.status == "OutOfSync"]
    when = "would not be applied" if case.is_predicted else "not applied yet"
    return f"; {when}: {listed(waiting)}" if waiting else ""


def _evidence(case: Case, wait: AwaitedObject, stuck: StuckWait) -> Iterator[Evidence]:
    if wait.reported:
        yield cite(case.application, "/status/operationState/message", says="what the operation waits for")
    yield cite(case.application, "/status/operationState/startedAt", says="when it started")
    for index, row in enumerate(case.app.status.resources):
        if row.key == wait.ref.key and row.health is not None and row.health.status != HealthCode.HEALTHY:
            yield cite(case.application, f"/status/resources/{index}/health", says="its health")
    yield from stuck.evidence

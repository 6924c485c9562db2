"""The operation exceeded Argo CD's sync timeout, or has been running far longer than any sync before.

## What happens
With a sync timeout set, the controller terminates an operation that is older than that, counted from its
start over all retries. What was applied stays; later waves were not applied. Without a timeout nothing ends
an operation that hangs (the controller was restarted in the middle of it, the status is too large to be
written), and no other sync can start.

## How whysync knows
`triggered by controller sync timeout`, or `operation is terminating due to timeout`. Or the operation is
Running, does not report what it waits for, and is older than ten minutes and than three times the slowest
sync in the history.

## Fix
Find out what it waited for: that is the cause. Raise the limit only if the sync legitimately takes that long.

## When it is something else
A user terminated it: then the message does not mention a timeout. It waits for a hook or a wave: hook-stuck,
wave-stalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from msgspec.structs import replace

from whysync.argocd.api.application import OperationState
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, cite_if, rule
from whysync.diagnosis.fix import FixKind
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.json_tree import Json, Missing, integer, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import OperationTerminated
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    argocd_namespace,
    kubectl,
    on_object,
    restart,
    sync,
    terminate,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.hook_runs import ended_with_its_sync
from whysync.queries.timestamps import age_text
from whysync.queries.waiting_on import SILENT, is_hook_result, is_running, is_too_long, slowest_sync, wait_of

PARAMETERS = "argocd-cmd-params-cm"
LIMIT = "/data/controller.sync.timeout.seconds"
DEFAULT_TIMEOUT = 3600
_TERMINATION = timedelta(minutes=5)
DEADLINE_SLACK = 600  # what a sync needs besides its longest hook
SLACK = 60  # an operation is terminated some seconds late


@rule(cause="sync-timeout", since="0.1")
def operation_timed_out(case: Case) -> Iterator[Finding]:
    yield from _hanging(case)
    yield from _terminating(case)
    for group in grouped(case, OperationTerminated):
        if not any(report.failure.by_timeout for report in group.reports):
            continue
        operation = case.operation
        started = operation.started_at if operation else None
        ended = operation.finished_at if operation else None
        took = ended - started if started and ended else case.age(started)
        unhealthy = tuple(s for s in case.symptoms if s.kind is SymptomKind.UNHEALTHY and s.ref is not None)
        hooks = [(i, result) for i, result in enumerate(case.results) if ended_with_its_sync(result)]
        waited_for = f"; {unhealthy[0].text}" if unhealthy else ""
        if hooks:
            waited_for = f"; {hooks[0][1].hook_type} hook {hooks[0][1].ref} was still running"
        settings = case.settings(PARAMETERS)
        limit = settings.at(LIMIT) if settings is not None else None
        raised = took is not None and _seconds(limit) > took.total_seconds() + SLACK
        yield Finding(
            about=case.application.ref,
            explains=(
                *group.explains,
                *(id for _, hook in hooks if (id := SymptomId.result(hook.key)) in case.symptom_ids),
            ),
            because=tuple(symptom.id for symptom in unhealthy),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD terminated the sync after {age_text(took)}: the sync timeout was reached"
            + waited_for,
            evidence=(
                *group.cited(says="the controller terminated it"),
                cite(case.application, "/status/operationState/startedAt", says="when it started"),
                *(
                    cite(
                        case.application,
                        f"/status/operationState/syncResult/resources/{index}",
                        says="terminated with the sync",
                    )
                    for index, _ in hooks[:3]
                ),
                *cite_if(settings, LIMIT, says="the sync timeout in seconds", when=isinstance(limit, str)),
            ),
            fixes=tuple(_fixes(case, hooks[0][1].ref if hooks else None, limit)),
            already_fixed=sync_again(
                case,
                f"the sync timeout is {_seconds(limit)} s now",
                "Sync again: the sync timeout was raised",
                when=raised,
            ),
        )


def _terminating(case: Case) -> Iterator[Finding]:
    """Somebody terminated the operation, and its phase is still Running or Terminating much later."""
    operation = case.operation
    if operation is not None and operation.phase == "Terminating" and OPERATION in case.symptom_ids:
        yield from _not_terminated(case, operation)
    for group in grouped(case, OperationTerminated):
        by_timeout = any(report.failure.by_timeout for report in group.reports)
        if by_timeout or operation is None or not is_running(case) or OPERATION not in group.explains:
            continue
        age = case.age(operation.started_at)
        if age is None or age < _TERMINATION:
            continue
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM,
            verdict=f"the sync was terminated, but its operation has been running for {age_text(age)}:"
            " no other sync can start",
            evidence=(
                *group.cited(says="it was terminated"),
                cite(case.application, "/status/operationState/startedAt", says="when it started"),
            ),
            fixes=(
                Fix.run(
                    terminate(case),
                    restart(case, CONTROLLER),
                    title="Terminate it again; if it stays, restart the controller",
                    risk="hooks that still run are deleted; after a restart all apps are compared again",
                ),
            ),
        )


def _not_terminated(case: Case, operation: OperationState) -> Iterator[Finding]:
    """The controller deletes the hooks that run, and waits until they are gone: a finalizer can hold them."""
    age = case.age(operation.started_at)
    if age is None or age < _TERMINATION:
        return
    hook = next((r.ref for r in case.results if r.hook_phase == "Running" and is_hook_result(case, r)), None)
    live = case.live_of(hook.key) if hook is not None else None
    held = [text(name) for name in items(live.meta.get("finalizers"))] if live is not None else []
    holding = f": hook {hook} still runs" if hook is not None else ""
    if live is not None and live.meta.get("deletionTimestamp") and held:
        holding = f": hook {hook} is being deleted, and finalizer {', '.join(held)} has not been removed"
    look = (with_comment(on_object("get", hook, "-o", "yaml"), "its finalizers and Pods"),) if hook else ()
    yield Finding(
        about=hook or case.application.ref,
        explains=(OPERATION,),
        because=(OPERATION,),  # what the operation reports besides is the cause
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"the sync, which started {age_text(age)} ago, is still being terminated{holding};"
        " no other sync can start",
        evidence=(
            cite(case.application, "/status/operationState/phase", says="it was terminated"),
            cite(case.application, "/status/operationState/startedAt", says="when it started"),
            *cite_if(live, "/metadata/finalizers", says="what has to be removed", when=bool(held)),
        ),
        fixes=(
            Fix.run(
                *look,
                restart(case, CONTROLLER),
                title=f"Find out why {hook} is not deleted; if nothing holds it, restart the controller"
                if hook is not None
                else "Restart the controller, which has to finish the termination",
                risk="after a restart all apps are compared again",
            ),
        ),
    )


def _fixes(case: Case, hook: Ref | None, limit: Json | Missing) -> Iterator[Fix]:
    """A hook that may take longer than the sync is terminated each time, whatever its log shows."""
    manifest = (case.desired_of(hook.key) or case.live_of(hook.key)) if hook is not None else None
    deadline = integer(manifest.at("/spec/activeDeadlineSeconds")) if manifest is not None else 0
    if deadline > (_seconds(limit) or DEFAULT_TIMEOUT):
        raised = _raise(case, limit, at_least=deadline + DEADLINE_SLACK)
        yield replace(
            raised,
            title=f"Raise the sync timeout: {hook} may take {deadline} s (activeDeadlineSeconds)",
        )
        yield _fix_cause(case, hook)
        return
    yield _fix_cause(case, hook)
    yield _raise(case, limit)


def _fix_cause(case: Case, hook: Ref | None) -> Fix:
    if hook is not None and hook.kind in ("Job", "Pod"):
        logs = kubectl("logs", "-f", f"{hook.kind.lower()}/{hook.name}", namespace=hook.namespace)
        return Fix.run(
            sync(case, "--async"),
            with_comment(logs, "while it runs"),
            title=f"Find out why {hook} takes so long: run it again and follow its log",
            risk="it starts again from the beginning, and is terminated again at the timeout",
        )
    return Fix.run(
        with_comment(f"argocd app resources {app_argument(case)}", "which object is not healthy?"),
        sync(case),
        title="Find the object that the sync waited for, get it healthy, then sync again",
    )


def _raise(case: Case, limit: Json | Missing, at_least: int = 0) -> Fix:
    """Raises the sync timeout to three times its value, or to what a hook needs."""
    return Fix(
        title="Or raise the sync timeout, if the sync legitimately takes that long",
        kind=FixKind.SETTINGS,
        target=Ref(version="v1", kind="ConfigMap", namespace=argocd_namespace(case), name=PARAMETERS),
        edits=(Set(pointer=LIMIT, value=str(max(3 * _seconds(limit) or DEFAULT_TIMEOUT, at_least))),),
        risk="applies to all Applications; a hanging sync then blocks for longer",
    )


def _seconds(limit: Json | Missing) -> int:
    return int(limit) if isinstance(limit, str) and limit.isdecimal() and len(limit) < 8 else 0


def _hanging(case: Case) -> Iterator[Finding]:
    """An operation that has been running for too long and does not report what it waits for."""
    operation = case.operation
    if operation is None or not is_running(case) or operation.message not in SILENT:
        return
    if any(row.health is not None and row.health.status == "Suspended" for row in case.app.status.resources):
        return  # a sync waits for a suspended object without a word
    age, slowest = case.age(operation.started_at), slowest_sync(case)
    if wait_of(case) is not None or not is_too_long(age, slowest) or OPERATION not in case.symptom_ids:
        return
    comparison = f"; the slowest sync before took {age_text(slowest)}" if slowest is not None else ""
    yield Finding(
        about=case.application.ref,
        explains=(OPERATION,),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"the sync has been running for {age_text(age)} without reporting what it waits for"
        + comparison,
        evidence=(
            cite(case.application, "/status/operationState/phase", says="it is still running"),
            cite(case.application, "/status/operationState/startedAt", says="when it started"),
            cite(case.application, "/status/reconciledAt", says="when Argo CD last compared the app"),
        ),
        fixes=(
            Fix.run(
                terminate(case),
                sync(case),
                title="Terminate the operation, then sync again",
                risk="what was applied stays; hooks that still run are deleted",
            ),
            Fix.run(
                restart(case, CONTROLLER),
                title="If it cannot be terminated: restart the application controller",
                risk="all apps are compared again, which causes load",
            ),
        ),
    )

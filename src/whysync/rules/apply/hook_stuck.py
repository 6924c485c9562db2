"""The sync waits for a hook that does not end.

## What happens
Argo CD waits for a hook without a limit. If its Pod cannot start (image, quota, missing Secret, no node), if
the Job hangs, or if Kubernetes deleted it before Argo CD saw its result, the operation stays Running, and no
other sync can start.

## How whysync knows
The operation waits for the hook. The hook's Pods, its `ttlSecondsAfterFinished`, its absence from the
cluster, a sidecar that still runs after the hook's own container succeeded, or more than ten minutes of
waiting show that it will not end by itself.

## Fix
Terminate the operation, fix what keeps the hook from ending, sync again. A deadline on the Job turns the next
hang into a failure with a reason. A claim that is bound only when a Pod uses it cannot be a hook: make it an
ordinary resource, in the wave of the workload that uses it. A sidecar keeps every run alive: leave it out of
the hook, make it a native sidecar, or stop it when the work is done.

## When it is something else
The hook ended with an error: hook-failed. It has only just started: wave-in-progress.
"""

from collections.abc import Iterator

from whysync.diagnosis import (
    Case,
    Confidence,
    Evidence,
    Finding,
    Fix,
    Severity,
    cite,
    rule,
)
from whysync.diagnosis.owning_resource import symptoms_about, symptoms_of_named_pods
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import OPERATION, Side
from whysync.messages.patterns.operations import Awaited, ResourceVanished
from whysync.messages.patterns.pods import ImagePull, Unschedulable
from whysync.queries.commands import app_argument, sync
from whysync.queries.group_failures import grouped, pod_symptoms
from whysync.queries.hook_runs import TTL_POINTER, MissingSafeguards, missing_safeguards
from whysync.queries.log_lines import last_log_line
from whysync.queries.named_objects import named_ref
from whysync.queries.sidecars import sidecar_removed_in_git
from whysync.queries.stuck_wait import StuckWait, hook_fixes, why_stuck
from whysync.queries.waiting_on import AwaitedObject, wait_of, waiting_text


@rule(cause="hook-stuck", since="0.1")
def hook_stuck(case: Case) -> Iterator[Finding]:
    yield from _deleted_during_wait(case)
    wait = wait_of(case)
    if wait is None or wait.what is not Awaited.HOOK:
        return
    stuck = why_stuck(case, wait)
    if stuck is None:
        return
    if not wait.ref.name:
        yield _unnamed(case, wait)
        return
    others = and_more(wait.others)
    last_line = None if stuck.certain else last_log_line(case, wait.ref)
    related = (
        *symptoms_about(case, wait.ref),
        *(pod_symptoms(case, wait.ref, ImagePull, Unschedulable) if stuck.certain else ()),
    )
    yield Finding(
        about=wait.ref,
        explains=tuple(dict.fromkeys((OPERATION, *related))),
        # Where the reason is unknown, a rule that knows it takes precedence.
        because=tuple(
            id
            for id in (
                *symptoms_about(case, wait.ref),
                *(() if stuck.certain else symptoms_of_named_pods(case, wait.ref)),
            )
            if id != OPERATION or not stuck.certain
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if stuck.certain else Confidence.MEDIUM,
        verdict=f"{waiting_text(case, wait)} hook {wait.ref}{others}"
        + (f": its last log line is {last_line.value!r}" if last_line is not None else stuck.because),
        root=stuck.reason if stuck.certain else None,
        evidence=(*_evidence(case, stuck), *((last_line,) if last_line is not None else ())),
        fixes=tuple(hook_fixes(case, wait, stuck)),
        already_fixed=sidecar_removed_in_git(case, wait.ref, stuck.sidecar),
    )
    safeguards = missing_safeguards(case, wait.ref)
    if safeguards is not None:
        yield _prevention(safeguards)


def _unnamed(case: Case, wait: AwaitedObject) -> Finding:
    """The message ends in front of the name: what any Pod reports may be about the hook's."""
    reported = tuple(symptom.id for symptom in case.symptoms if symptom.side is Side.HEALTH)
    return Finding(
        about=case.application.ref,
        explains=(OPERATION,),
        because=reported,
        severity=Severity.CRITICAL,
        confidence=Confidence.LOW,
        verdict=f"{waiting_text(case, wait)} a hook, and the message ends before its name",
        evidence=(
            cite(case.application, "/status/operationState/message", says="what the operation waits for"),
            cite(case.application, "/status/operationState/startedAt", says="when it started"),
        ),
        fixes=(
            Fix.run(
                f"argocd app get {app_argument(case)} --show-operation",
                title="Find the hook that runs, and read its events and its log",
            ),
        ),
    )


def _deleted_during_wait(case: Case) -> Iterator[Finding]:
    """The hook was deleted while Argo CD waited for it."""
    for group in grouped(case, ResourceVanished, by=lambda failure: failure.resource):
        ref = named_ref(case, group.failure.resource, group.ref)
        declared = case.desired_of(ref.key)
        ttl = declared.at(TTL_POINTER) if declared is not None else None
        why = (
            f": ttlSecondsAfterFinished deletes it {ttl} s after it finishes" if isinstance(ttl, int) else ""
        )
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if why else Confidence.MEDIUM,
            verdict=f"{ref} was deleted while the sync waited for it{why}",
            evidence=(
                *group.cited(says="it was deleted, and its result is unknown"),
                *(
                    (cite(declared, TTL_POINTER, says="deletes it this many seconds after it finishes"),)
                    if declared and why
                    else ()
                ),
            ),
            fixes=(
                Fix.run(
                    sync(case), title="Sync again; only Argo CD may delete the hook (no TTL, no cleanup job)"
                ),
            ),
        )


def _evidence(case: Case, stuck: StuckWait) -> Iterator[Evidence]:
    yield cite(case.application, "/status/operationState/message", says="what the operation waits for")
    yield cite(case.application, "/status/operationState/startedAt", says="when it started")
    yield from stuck.evidence


def _prevention(safeguards: MissingSafeguards) -> Finding:
    return Finding(
        about=safeguards.ref,
        field=safeguards.pointer,
        explains=(OPERATION,),
        because=(OPERATION,),
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        verdict=f"{safeguards.ref} {safeguards.problems}",
        evidence=tuple(safeguards.evidence()),
        fixes=(safeguards.fix(),),
    )

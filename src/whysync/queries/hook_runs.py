"""Hook runs: why one failed, whether it exceeded its deadline, the evidence, and how to run it again."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.argocd.api.application import ResourceResult
from whysync.diagnosis import Case, Evidence, Fix, Remove, Set, cite, cite_line
from whysync.diagnosis.finding import AlreadyFixed
from whysync.diagnosis.pods import LogRootCause
from whysync.diagnosis.sentences import listed
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import (
    AlreadyExists,
    AnnotationTooLong,
    FinalizerStuck,
    ImmutableField,
    KindNotServed,
    LimitRange,
    NamespaceMissing,
    NamespaceTerminating,
    QuotaExceeded,
    SsaConflict,
    TooLarge,
)
from whysync.messages.patterns.operations import OperationTerminated
from whysync.messages.patterns.pods import DeadlineExceeded
from whysync.messages.patterns.projects import ProjectDenied
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SchemaInvalid
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.log_lines import last_log_line, root_cause_text
from whysync.queries.sync_position import is_deleted_before_next_run

_REFUSALS = (
    AdmissionDenied,
    AlreadyExists,
    AnnotationTooLong,
    FinalizerStuck,
    Forbidden,
    ImmutableField,
    KindNotServed,
    LimitRange,
    NamespaceMissing,
    NamespaceTerminating,
    ProjectDenied,
    QuotaExceeded,
    SchemaInvalid,
    SsaConflict,
    TooLarge,
    WebhookDown,
)
DEADLINE_POINTER = "/spec/activeDeadlineSeconds"
TTL_POINTER = "/spec/ttlSecondsAfterFinished"
RUN_TO_COMPLETION = ("Job", "Pod", "Workflow")
"""Kinds that run to completion. A hook of another kind fails when it becomes Degraded."""


def was_never_created(result: ResourceResult) -> bool:
    """Was the hook refused by the API server? Then another rule reports the refusal."""
    return any(isinstance(failure, _REFUSALS) for failure in understand(result.message).failures)


def ended_with_its_sync(result: ResourceResult) -> bool:
    """Was the hook deleted while it ran, because its sync was terminated?

    Argo CD reports that it failed and was `Terminated`; before 3.4, that it succeeded and was `Deleted`.
    """
    return bool(result.hook_type) and result.message in ("Terminated", "Deleted")


def was_terminated_by_timeout(case: Case) -> bool:
    return any(report.failure.by_timeout for report in case.failures(OperationTerminated))


def job_past_deadline(case: Case, ref: Ref, result: ResourceResult) -> Manifest | None:
    """The Job that exceeded its `activeDeadlineSeconds`: live, else as declared in Git."""
    job = case.live_of(ref.key) or case.desired_of(ref.key)
    if job is None or ref.kind != "Job" or not isinstance(job.at(DEADLINE_POINTER), int):
        return None
    conditions = (fields(condition) for condition in items(job.status.get("conditions")))
    exceeded = any(text(condition.get("reason")) == "DeadlineExceeded" for condition in conditions)
    return job if exceeded or understand(result.message).first(DeadlineExceeded) is not None else None


def how_it_ended(
    case: Case, result: ResourceResult, root_cause: LogRootCause | None, overdue_job: Manifest | None
) -> str:
    if overdue_job is not None:
        verb = "would exceed" if case.is_predicted else "exceeded"
        deadline = f"{verb} its deadline of {overdue_job.at(DEADLINE_POINTER)} s"
        return (
            f"{deadline}: {root_cause_text(root_cause.failure)}"
            if root_cause is not None
            else f"{deadline} while it {'is' if case.is_predicted else 'was'} still running"
        )
    verb = "would fail" if case.is_predicted else "failed"
    return f"{verb}: {_failure_text(case, result, root_cause)}"


def _failure_text(case: Case, result: ResourceResult, root_cause: LogRootCause | None) -> str:
    if root_cause is not None:
        return root_cause_text(root_cause.failure)
    for history in case.pods_of(result.ref):
        for container in history.failing:
            reason = f" ({container.exit_reason})" if container.exit_reason not in ("", "Error") else ""
            if container.exit_code is not None:
                words = f": {container.last_words}" if container.last_words else ""
                return f"container {container.name} exited with code {container.exit_code}{reason}{words}"
            return f"container {container.name}: {container.waiting}"
    if result.message:
        return result.message
    last_line = last_log_line(case, result.ref)
    if last_line is not None:
        return f"its last log line is {last_line.value!r}"
    return "the facts do not contain a reason; see its log"


def end_evidence(
    case: Case,
    index: int,
    result: ResourceResult,
    root_cause: LogRootCause | None,
    overdue_job: Manifest | None,
) -> Iterator[Evidence]:
    base = f"/status/operationState/syncResult/resources/{index}"
    yield cite(case.application, f"{base}/hookPhase", says="how the hook ended")
    if result.message:
        yield cite(case.application, f"{base}/message", says="Argo CD's message")
    job = case.live_of(result.key)
    if job is not None:
        types = [text(fields(condition).get("type")) for condition in items(job.status.get("conditions"))]
        condition_type = next(
            (kind for kind in ("Failed", "FailureTarget") if kind in types), ""
        )  # both have the same content
        if condition_type:
            yield cite(
                job, f"/status/conditions/{types.index(condition_type)}", says="the Job's final condition"
            )
    if overdue_job is not None:
        yield cite(overdue_job, DEADLINE_POINTER, says="its deadline")
    for history in case.pods_of(result.ref):
        for container in history.failing:
            state = "state" if history.pod.at(f"{container.pointer}/state/terminated") else "lastState"
            ended = container.exit_code is not None
            pointer = f"{container.pointer}/{state}/terminated" if ended else f"{container.pointer}/state"
            yield cite(history.pod, pointer, says=f"how container {container.name} ended")
    if root_cause is not None:
        yield cite_line(root_cause.log, root_cause.failure.line, says="the log line with the reason")
    elif (last_line := last_log_line(case, result.ref)) is not None:
        yield last_line


def delete_kept_run(case: Case, ref: Ref) -> Iterator[str]:
    """Deletes a failed run that its hook-delete-policy keeps: the next sync would find it and fail."""
    hook = case.live_of(ref.key)
    if hook is not None and not is_deleted_before_next_run(hook):
        yield on_object("delete", ref)


def longer_deadline_in_git(case: Case, overdue_job: Manifest | None) -> AlreadyFixed | None:
    declared = case.desired_of(overdue_job.key) if overdue_job is not None else None
    if overdue_job is None or declared is None:
        return None
    before, now = overdue_job.at(DEADLINE_POINTER), declared.at(DEADLINE_POINTER)
    if not isinstance(before, int) or not isinstance(now, int) or now <= before:
        return None
    commands = (*delete_kept_run(case, overdue_job.ref), sync(case))
    again_with_raise_deadline = Fix.run(*commands, title="Sync again: Git has a longer deadline now")
    return already_fixed(f"Git now gives it {now} s", again_with_raise_deadline)


def fixes_of_failed_run(
    case: Case, ref: Ref, root_cause: LogRootCause | None, overdue_job: Manifest | None
) -> Iterator[Fix]:
    """Fixes for a failed hook: fix the error and sync, or raise its deadline."""
    if overdue_job is not None and root_cause is None:
        yield from _run_again(case, ref)
        yield from _raise_deadline(case, ref, overdue_job)
    else:
        yield from _fix_and_sync(case, ref, root_cause)


def _fix_and_sync(case: Case, ref: Ref, root_cause: LogRootCause | None) -> Iterator[Fix]:
    if ref.kind not in RUN_TO_COMPLETION:
        yield Fix.run(
            on_object("describe", ref) + "   # why it is not healthy",
            sync(case),
            title=f"Get {ref} healthy: its events and conditions show what is missing; then sync",
        )
        return
    hook = case.live_of(ref.key) or case.desired_of(ref.key)
    kept = hook is not None and not is_deleted_before_next_run(hook)
    logs = f"{ref.kind.lower()}/{ref.name}" if ref.kind in ("Job", "Pod") else ref.name
    log_command = kubectl("logs", logs, "--all-containers", "--tail=-1", namespace=ref.namespace)
    instruction = (
        f"Correct the password that the {ref.kind} reads, or the one set on the server, so that they match"
        if root_cause is not None and root_cause.failure.is_wrong_password
        else f"Correct what the log shows ({root_cause_text(root_cause.failure)})"
        if root_cause is not None
        else "Read the log, correct the error it shows"
    )
    if kept:
        yield Fix.run(
            f"{log_command} > {quote(ref.name)}.log",
            on_object("delete", ref),
            sync(case),
            title=f"{instruction}, delete the failed {ref.kind} (its hook-delete-policy keeps it), then sync",
            risk="deletes the failed run and its Pods; the first command saves the log",
        )
        return
    if hook is None:
        yield Fix.run(
            f"{log_command} > {quote(ref.name)}.log",
            on_object("delete", ref, "--ignore-not-found"),
            sync(case),
            title=f"{instruction}, delete the failed {ref.kind} if it still exists, then sync",
            risk="deletes the failed run and its Pods; the first command saves the log",
        )
        return
    yield Fix.run(
        log_command if root_cause is None else comment("correct that, commit, then"),
        sync(case),
        title=f"{instruction}, then sync (Argo CD deletes the failed run first)",
    )


def fix_of_missing_workloads(case: Case, result: ResourceResult) -> Iterator[Fix]:
    """A PreSync hook runs before all workloads of the app, such as the database that it migrates."""
    missing = [
        row.ref
        for row in case.app.status.resources
        if row.kind in ("Deployment", "StatefulSet")
        and not row.hook
        and row.health is not None
        and row.health.status == "Missing"
    ]
    if not missing or result.hook_type != "PreSync":
        return
    needed = [ref for ref in missing if ref.kind == "StatefulSet"] or missing
    yield Fix.run(
        comment(
            f"in Git: set argocd.argoproj.io/hook: Sync on {result.ref} (it overrides helm.sh/hook), and"
        ),
        comment("argocd.argoproj.io/sync-wave: after what it needs, before what needs it; commit and push"),
        sync(case),
        title=f"If it needs {listed(needed)}, which does not exist yet: a PreSync hook runs before it, so run"
        " it in a later wave",
        risk="what is in the same or an earlier wave starts before the hook has run",
    )


def _run_again(case: Case, ref: Ref) -> Iterator[Fix]:
    """At its deadline Kubernetes deletes a Job's Pods, and their logs with them."""
    yield Fix.run(
        *delete_kept_run(case, ref),
        sync(case, "--async"),
        with_comment(kubectl("logs", "-f", f"job/{ref.name}", namespace=ref.namespace), "while it runs"),
        title="Run it again and follow its log (its Pods were deleted at the deadline)",
    )


def _raise_deadline(case: Case, ref: Ref, overdue_job: Manifest | None) -> Iterator[Fix]:
    limit = overdue_job.at(DEADLINE_POINTER) if overdue_job is not None else None
    if isinstance(limit, int) and case.desired_of(ref.key) is not None:
        yield Fix.change(
            ref,
            Set(pointer=DEADLINE_POINTER, value=limit * 3),
            title="Or raise the deadline, if it was only slow",
            risk="a hanging run then blocks the sync for as long",
        )


class MissingSafeguards(msgspec.Struct, frozen=True, kw_only=True):
    """A hook Job whose settings turn a failure into a hang: a TTL, or no deadline."""

    ref: Ref
    job: Manifest
    has_ttl: bool
    has_no_deadline: bool

    @property
    def pointer(self) -> str:
        return TTL_POINTER if self.has_ttl else DEADLINE_POINTER

    @property
    def problems(self) -> str:
        ttl = "can be deleted by its TTL before Argo CD sees its result"
        endless = "has no deadline, so a hang never ends"
        return ", and ".join(
            (*((ttl,) if self.has_ttl else ()), *((endless,) if self.has_no_deadline else ()))
        )

    def evidence(self) -> Iterator[Evidence]:
        if self.has_ttl:
            yield cite(
                self.job, TTL_POINTER, says="Kubernetes deletes it this many seconds after it finishes"
            )
        if self.has_no_deadline:
            yield cite(self.job, DEADLINE_POINTER, says="no deadline")

    def fix(self) -> Fix:
        steps = (
            *(("set a deadline",) if self.has_no_deadline else ()),
            *(("remove ttlSecondsAfterFinished",) if self.has_ttl else ()),
        )
        return Fix.change(
            self.ref,
            *((Remove(pointer=TTL_POINTER),) if self.has_ttl else ()),
            *((Set(pointer=DEADLINE_POINTER, value=600),) if self.has_no_deadline else ()),
            title=f"Prevention: {' and '.join(steps)}",
            risk="the deadline must be longer than its slowest successful run"
            if self.has_no_deadline
            else "",
        )


def missing_safeguards(case: Case, ref: Ref) -> MissingSafeguards | None:
    job = case.desired_of(ref.key)
    if job is None or ref.kind != "Job":
        return None
    has_ttl = isinstance(job.at(TTL_POINTER), int)
    has_no_deadline = not isinstance(job.at(DEADLINE_POINTER), int)
    if not (has_ttl or has_no_deadline):
        return None
    return MissingSafeguards(ref=ref, job=job, has_ttl=has_ttl, has_no_deadline=has_no_deadline)

"""Hook runs: why one failed, whether its deadline ended it, and what shows that."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceResult
from whysync.diagnosis import Case, Evidence, cite, cite_line
from whysync.diagnosis.pods import LogRootCause
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import AdmissionDenied, WebhookDown
from whysync.messages.patterns.apply import (
    AlreadyExists,
    ImmutableField,
    KindNotServed,
    NamespaceMissing,
    NamespaceTerminating,
)
from whysync.messages.patterns.operations import OperationTerminated
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SchemaInvalid
from whysync.queries.commands import on_object
from whysync.queries.log_lines import root_in_words
from whysync.queries.sync_position import is_deleted_before_next_run

_REFUSALS = (
    AdmissionDenied,
    AlreadyExists,
    Forbidden,
    ImmutableField,
    KindNotServed,
    NamespaceMissing,
    NamespaceTerminating,
    SchemaInvalid,
    WebhookDown,
)


DEADLINE_POINTER = "/spec/activeDeadlineSeconds"


def was_never_created(result: ResourceResult) -> bool:
    """It could not even be created: the rule that knows the refusal tells it."""
    return any(isinstance(failure, _REFUSALS) for failure in understand(result.message).failures)


def ended_with_the_operation(case: Case) -> bool:
    return any(report.failure.by_timeout for report in case.failures(OperationTerminated))


def job_past_deadline(case: Case, ref: Ref, result: ResourceResult) -> Manifest | None:
    """The Job that took longer than its `activeDeadlineSeconds`; as it ran, else as Git declares it."""
    job = case.live_of(ref.key) or case.desired_of(ref.key)
    if job is None or ref.kind != "Job" or not isinstance(job.at(DEADLINE_POINTER), int):
        return None
    conditions = (fields(condition) for condition in items(job.status.get("conditions")))
    exceeded = any(text(condition.get("reason")) == "DeadlineExceeded" for condition in conditions)
    return job if exceeded or "longer than specified deadline" in result.message else None


def end_in_words(case: Case, result: ResourceResult, word: LogRootCause | None, late: Manifest | None) -> str:
    if late is not None:
        after = f"was ended by its own deadline of {late.at(DEADLINE_POINTER)} s"
        return f"{after}: {root_in_words(word.failure)}" if word is not None else f"{after}, still at work"
    return f"failed: {_failure_in_words(case, result, word)}"


def _failure_in_words(case: Case, result: ResourceResult, word: LogRootCause | None) -> str:
    if word is not None:
        return root_in_words(word.failure)
    for story in case.pods_of(result.ref):
        for container in story.failing:
            reason = f" ({container.exit_reason})" if container.exit_reason not in ("", "Error") else ""
            if container.exit_code is not None:
                return f"container {container.name} exited with code {container.exit_code}{reason}"
            return f"container {container.name}: {container.waiting}"
    return result.message or "its log would tell why"


def evidence_of_end(
    case: Case, index: int, result: ResourceResult, word: LogRootCause | None, late: Manifest | None
) -> Iterator[Evidence]:
    base = f"/status/operationState/syncResult/resources/{index}"
    yield cite(case.application, f"{base}/hookPhase", says="how the hook ended")
    if result.message:
        yield cite(case.application, f"{base}/message", says="what Argo CD says of it")
    job = case.live_of(result.key)
    if job is not None:
        types = [text(fields(condition).get("type")) for condition in items(job.status.get("conditions"))]
        last = next((kind for kind in ("Failed", "FailureTarget") if kind in types), "")  # both say the same
        if last:
            yield cite(job, f"/status/conditions/{types.index(last)}", says="why Kubernetes gave it up")
    if late is not None:
        yield cite(late, DEADLINE_POINTER, says="how long it may take")
    for story in case.pods_of(result.ref):
        for container in story.failing:
            state = "state" if story.pod.at(f"{container.pointer}/state/terminated") else "lastState"
            ended = container.exit_code is not None
            pointer = f"{container.pointer}/{state}/terminated" if ended else f"{container.pointer}/state"
            yield cite(story.pod, pointer, says=f"how container {container.name} ended")
    if word is not None:
        yield cite_line(word.log, word.failure.line, says="the line that names the reason")


def delete_kept_run(case: Case, ref: Ref) -> Iterator[str]:
    """Where its delete policy keeps it, the next sync would find the failed run and fail at once."""
    hook = case.live_of(ref.key)
    if hook is not None and not is_deleted_before_next_run(hook):
        yield on_object("delete", ref)

"""The life of a hook after it was applied: judged by its health, freed of its finalizer, deleted.

Mirrors `getOperationPhase`, `removeHookFinalizer`, `deleteHooks` and `terminateHooksPreemptively` of
gitops-engine, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from whysync.argocd.api.application import HealthCode, Phase
from whysync.argocd.hooks import DeletePolicy
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as access
from whysync.argocd.sync.cluster_ops import ClusterOps, Reason, Refused
from whysync.argocd.sync.results import COMPLETED
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object, dig, fields, items, text

_ATTEMPTS: Final = 5
_PHASES: Final = {
    HealthCode.UNKNOWN: Phase.FAILED,
    HealthCode.DEGRADED: Phase.FAILED,
    HealthCode.PROGRESSING: Phase.RUNNING,
    HealthCode.SUSPENDED: Phase.RUNNING,
    HealthCode.HEALTHY: Phase.SUCCEEDED,
}


class HookOutcome(NamedTuple):
    phase: str
    message: str
    error: str | None = None
    """Its health cannot be told; then the phase is empty."""


def judged(cluster_ops: ClusterOps, live: Object) -> HookOutcome:
    """The state of a hook. A kind without a health check has succeeded as soon as it exists."""
    assessment = cluster_ops.health(live)
    if assessment is not None:
        if assessment.error is not None:
            return HookOutcome("", "", assessment.error)
        code = assessment.verdict.code
        if code is not None and code in _PHASES:
            return HookOutcome(_PHASES[code].value, assessment.verdict.message)
    return HookOutcome(Phase.SUCCEEDED.value, messages.hook_created(text(dig(live, "metadata", "name"))))


def remove_finalizer(cluster_ops: ClusterOps, work: SyncTask) -> None:
    """Raises `Refused`. Argo CD may know an old version of the object: on a conflict it reads it again."""
    for attempt in range(_ATTEMPTS):
        if work.live is None or not is_held(work.live):
            return
        work.live = released(work.live)
        try:
            access.write(cluster_ops, work, work.live)
        except Refused as problem:
            if problem.reason is Reason.NOT_FOUND:
                return
            if problem.reason is Reason.CONFLICT:
                try:
                    work.live = access.read(cluster_ops, work)
                except Refused as gone:
                    if gone.reason is Reason.NOT_FOUND:
                        return
                    raise gone.within("failed to get resource") from gone
            if problem.reason is not Reason.CONFLICT or attempt == _ATTEMPTS - 1:
                raise problem.within("failed to update resource") from problem
        else:
            return


def free_completed(step: Step, works: Iterable[SyncTask]) -> None:
    """The outcome of these hooks has been read: they may go."""
    for work in works:
        if work.is_hook and work.is_completed:
            try:
                remove_finalizer(step.cluster_ops, work)
            except Refused as problem:
                message = messages.finalizer_stays(problem.message)
                step.record(work, work.status, Phase.ERROR.value, message)


def delete_hooks(step: Step, works: Iterable[SyncTask]) -> None:
    for work in works:
        try:
            access.delete(step.cluster_ops, work, step.options.propagation)
        except Refused as problem:
            if problem.reason is not Reason.NOT_FOUND:
                message = messages.not_deleted(problem.message)
                step.record(work, work.status, Phase.ERROR.value, message)


def end_hooks(step: Step, works: Iterable[SyncTask]) -> bool:
    """Stop the hooks that are still running; did it go without errors?"""
    ended = [_end(step, work) for work in works if work.is_hook and work.is_running]
    return all(ended)


def _end(step: Step, work: SyncTask) -> bool:
    cluster_ops = step.cluster_ops
    if work.live is None:
        try:
            work.live = _read_if_there(cluster_ops, work)
        except Refused as problem:
            message = messages.not_read_at_end(problem.message)
            step.record(work, work.status, Phase.ERROR.value, message)
            return False
    if work.live is None:
        step.record(work, work.status, Phase.SUCCEEDED.value, messages.HOOK_TERMINATED)
        return True
    outcome = judged(cluster_ops, work.live)
    if outcome.error is not None:
        step.record(work, work.status, Phase.ERROR.value, messages.no_health_at_end(outcome.error))
    try:
        remove_finalizer(cluster_ops, work)
    except Refused as problem:
        step.record(work, work.status, Phase.ERROR.value, messages.finalizer_stays(problem.message))
        return False
    unfinished = outcome.error is not None or outcome.phase == Phase.RUNNING
    if unfinished or work.is_deleted_on(DeletePolicy.HOOK_FAILED):
        try:
            access.delete(cluster_ops, work, step.options.propagation)
        except Refused as problem:
            if problem.reason is not Reason.NOT_FOUND:
                message = messages.not_deleted_at_end(problem.message)
                step.record(work, work.status, Phase.FAILED.value, message)
                return False
    if outcome.phase in COMPLETED:
        step.record(work, work.status, outcome.phase, outcome.message)
    elif work.state != Phase.ERROR:
        step.record(work, work.status, Phase.FAILED.value, messages.HOOK_TERMINATED)
    return True


def _read_if_there(cluster_ops: ClusterOps, work: SyncTask) -> Object | None:
    try:
        return access.read(cluster_ops, work)
    except Refused as problem:
        if problem.reason is Reason.NOT_FOUND:
            return None
        raise


HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"


def is_held(obj: Object) -> bool:
    return HOOK_FINALIZER in items(dig(obj, "metadata", "finalizers"))


def held(obj: Object) -> Object:
    """With the finalizer, behind those that it has."""
    if is_held(obj):
        return obj
    meta = fields(obj.get("metadata"))
    return {**obj, "metadata": {**meta, "finalizers": [*items(meta.get("finalizers")), HOOK_FINALIZER]}}


def released(obj: Object) -> Object:
    """Without the finalizer."""
    if not is_held(obj):
        return obj
    meta = fields(obj.get("metadata"))
    kept = [*items(meta.get("finalizers"))]
    kept.remove(HOOK_FINALIZER)
    return {**obj, "metadata": {**meta, "finalizers": kept}}

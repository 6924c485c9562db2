"""Hooks after they were applied: their phase from their health, their finalizer, their deletion.

Mirrors `getOperationPhase`, `removeHookFinalizer`, `deleteHooks` and `terminateHooksPreemptively` of
gitops-engine, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from whysync.argocd.api.application import HealthCode, Phase
from whysync.argocd.hooks import DeletePolicy
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as resource_ops
from whysync.argocd.sync.cluster_ops import ClusterOps, Reason, Refused
from whysync.argocd.sync.results import COMPLETED
from whysync.argocd.sync.sync_context import SyncContext
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
    """The health check failed, and the phase is empty."""


def get_operation_phase(cluster_ops: ClusterOps, live: Object) -> HookOutcome:
    """The phase of a hook. A hook of a kind without a health check has succeeded as soon as it exists."""
    assessment = cluster_ops.health(live)
    if assessment is not None:
        if assessment.error is not None:
            return HookOutcome("", "", assessment.error)
        code = assessment.verdict.code
        if code is not None and code in _PHASES:
            return HookOutcome(_PHASES[code].value, assessment.verdict.message)
    return HookOutcome(Phase.SUCCEEDED.value, f"{text(dig(live, 'metadata', 'name'))} created")


def remove_finalizer(cluster_ops: ClusterOps, task: SyncTask) -> None:
    """Raises `Refused`. The live object may be outdated: on a conflict it is read again."""
    for attempt in range(_ATTEMPTS):
        if task.live is None or not has_hook_finalizer(task.live):
            return
        task.live = without_hook_finalizer(task.live)
        try:
            resource_ops.write(cluster_ops, task, task.live)
        except Refused as problem:
            if problem.reason is Reason.NOT_FOUND:
                return
            if problem.reason is Reason.CONFLICT:
                try:
                    task.live = resource_ops.read(cluster_ops, task)
                except Refused as gone:
                    if gone.reason is Reason.NOT_FOUND:
                        return
                    raise gone.within("failed to get resource") from gone
            if problem.reason is not Reason.CONFLICT or attempt == _ATTEMPTS - 1:
                raise problem.within("failed to update resource") from problem
        else:
            return


def remove_completed_finalizers(step: SyncContext, tasks: Iterable[SyncTask]) -> None:
    """Removes the finalizer from completed hooks, so that they can be deleted."""
    for task in tasks:
        if task.is_hook and task.is_completed:
            try:
                remove_finalizer(step.cluster_ops, task)
            except Refused as problem:
                message = messages.finalizer_not_removed(problem.message)
                step.set_resource_result(task, task.status, Phase.ERROR.value, message)


def delete_hooks(step: SyncContext, tasks: Iterable[SyncTask]) -> None:
    for task in tasks:
        try:
            resource_ops.delete(step.cluster_ops, task, step.options.propagation)
        except Refused as problem:
            if problem.reason is not Reason.NOT_FOUND:
                message = messages.not_deleted(problem.message)
                step.set_resource_result(task, task.status, Phase.ERROR.value, message)


def terminate_hooks(step: SyncContext, tasks: Iterable[SyncTask]) -> bool:
    """Deletes running hooks; true if that succeeded."""
    ended = [_terminate_hook(step, task) for task in tasks if task.is_hook and task.is_running]
    return all(ended)


def _terminate_hook(step: SyncContext, task: SyncTask) -> bool:
    cluster_ops = step.cluster_ops
    if task.live is None:
        try:
            task.live = _read_if_exists(cluster_ops, task)
        except Refused as problem:
            message = f"Failed to get live resource: {problem.message}"
            step.set_resource_result(task, task.status, Phase.ERROR.value, message)
            return False
    if task.live is None:
        step.set_resource_result(task, task.status, Phase.SUCCEEDED.value, messages.HOOK_TERMINATED)
        return True
    outcome = get_operation_phase(cluster_ops, task.live)
    if outcome.error is not None:
        step.set_resource_result(
            task,
            task.status,
            Phase.ERROR.value,
            f"Failed to get hook health: failed to get resource health: {outcome.error}",
        )
    try:
        remove_finalizer(cluster_ops, task)
    except Refused as problem:
        step.set_resource_result(
            task, task.status, Phase.ERROR.value, messages.finalizer_not_removed(problem.message)
        )
        return False
    unfinished = outcome.error is not None or outcome.phase == Phase.RUNNING
    if unfinished or task.is_deleted_on(DeletePolicy.HOOK_FAILED):
        try:
            resource_ops.delete(cluster_ops, task, step.options.propagation)
        except Refused as problem:
            if problem.reason is not Reason.NOT_FOUND:
                message = f"Failed to delete: {problem.message}"
                step.set_resource_result(task, task.status, Phase.FAILED.value, message)
                return False
    if outcome.phase in COMPLETED:
        step.set_resource_result(task, task.status, outcome.phase, outcome.message)
    elif task.state != Phase.ERROR:
        step.set_resource_result(task, task.status, Phase.FAILED.value, messages.HOOK_TERMINATED)
    return True


def _read_if_exists(cluster_ops: ClusterOps, task: SyncTask) -> Object | None:
    try:
        return resource_ops.read(cluster_ops, task)
    except Refused as problem:
        if problem.reason is Reason.NOT_FOUND:
            return None
        raise


HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"


def has_hook_finalizer(obj: Object) -> bool:
    return HOOK_FINALIZER in items(dig(obj, "metadata", "finalizers"))


def with_hook_finalizer(obj: Object) -> Object:
    """With the hook finalizer appended."""
    if has_hook_finalizer(obj):
        return obj
    meta = fields(obj.get("metadata"))
    return {**obj, "metadata": {**meta, "finalizers": [*items(meta.get("finalizers")), HOOK_FINALIZER]}}


def without_hook_finalizer(obj: Object) -> Object:
    """Without the hook finalizer."""
    if not has_hook_finalizer(obj):
        return obj
    meta = fields(obj.get("metadata"))
    finalizers = [*items(meta.get("finalizers"))]
    finalizers.remove(HOOK_FINALIZER)
    return {**obj, "metadata": {**meta, "finalizers": finalizers}}

"""One step of a sync operation: `step` continues it, `terminate` ends it.

A step creates the list of tasks, adds the results of earlier steps, and runs at most one wave of one phase.
It returns the state that the next step needs, so an operation can be stored and resumed. The caller decides
when the next step runs; Argo CD does so when a resource of the app changes, or after 30 seconds. Mirrors
gitops-engine `Sync` and `Terminate`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from whysync.argocd.api.application import HealthCode, Phase
from whysync.argocd.hooks import DeletePolicy, SyncPhase
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as resource_ops
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.csa_migration import migrate
from whysync.argocd.sync.hooks import (
    delete_hooks,
    get_operation_phase,
    remove_completed_finalizers,
    remove_finalizer,
    terminate_hooks,
)
from whysync.argocd.sync.options import ApplyMethod, PruneDecision, WritePlan, prune_decision, write_plan
from whysync.argocd.sync.request import Request, is_namespace
from whysync.argocd.sync.results import PHASE_OF, Code, State
from whysync.argocd.sync.sync_context import SyncContext
from whysync.argocd.sync.sync_task import SyncTask
from whysync.argocd.sync.tasks import plan
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of


def step(state: State, request: Request, cluster_ops: ClusterOps) -> State:
    """The operation after its next step; a finished one is returned unchanged."""
    if state.is_finished:
        return state
    context = SyncContext(state, request, cluster_ops)
    _advance(context)
    return context.state


def terminate(state: State, request: Request, cluster_ops: ClusterOps) -> State:
    """Terminates the operation: running hooks are deleted, applied objects stay."""
    if state.is_finished:
        return state
    context = SyncContext(state, request, cluster_ops)
    tasks = plan(context).tasks
    remove_completed_finalizers(context, tasks)
    if terminate_hooks(context, tasks):
        context.set_operation_phase(Phase.FAILED, messages.TERMINATED)
    else:
        context.set_operation_phase(Phase.ERROR, messages.TERMINATED_WITH_ERRORS)
    return context.state


def _advance(context: SyncContext) -> None:
    task_plan = plan(context)
    if not task_plan.is_valid:
        refused = (result.message for result in context.results if result.status == Code.SYNC_FAILED)
        return context.set_operation_phase(Phase.FAILED, messages.not_valid(refused))
    tasks = task_plan.tasks
    if not context.has_started and not dry_run_all(context, tasks):
        return None
    _update_running(context, tasks)
    if _is_waiting(context, tasks):
        return None
    remove_completed_finalizers(context, tasks)
    # Whether hooks are deleted depends on the outcome of the whole sync, not on their own.
    # Upstream removes finalizers and deletes hooks of an earlier sync even in a dry run.
    ready = [task for task in tasks if not task.is_running]
    on_success = [task for task in ready if task.is_deleted_on(DeletePolicy.HOOK_SUCCEEDED)]
    on_failure = [task for task in ready if task.is_deleted_on(DeletePolicy.HOOK_FAILED)]
    fail_hooks = [task for task in tasks if task.phase == SyncPhase.SYNC_FAIL]
    sync_tasks = [task for task in tasks if task.phase != SyncPhase.SYNC_FAIL]
    if any(task.has_failed for task in sync_tasks):
        delete_hooks(context, on_failure)
        refused = [task for task in sync_tasks if task.was_refused]
        execute_sync_fail_phase(context, fail_hooks, refused, messages.TASKS_FAILED)
        return None
    pending = [task for task in sync_tasks if task.is_pending]
    if context.options.out_of_sync_only:
        pending = [task for task in pending if not context.is_unmodified(task)]
    if not pending:
        delete_hooks(context, on_success)
        return context.set_operation_phase(Phase.SUCCEEDED, messages.NO_MORE_TASKS)
    return _run_wave(context, pending, fail_hooks, on_success=on_success, on_failure=on_failure)


def _update_running(context: SyncContext, tasks: Sequence[SyncTask]) -> None:
    """Updates the results of applied objects from their health."""
    for task in tasks:
        if not task.is_running or task.live is None:
            continue
        if task.is_hook:
            outcome = get_operation_phase(context.cluster_ops, task.live)
            if outcome.error is None:
                context.set_resource_result(task, task.status, outcome.phase, outcome.message)
            else:
                context.set_resource_result(
                    task,
                    task.status,
                    Phase.ERROR.value,
                    f"failed to get resource health: failed to get resource health: {outcome.error}",
                )
            continue
        assessment = context.cluster_ops.health(task.live)
        if assessment is None:
            context.set_resource_result(task, task.status, Phase.SUCCEEDED.value, task.message)
        elif assessment.error is None:
            # An object that is neither healthy nor degraded keeps the wave waiting without a limit.
            if assessment.verdict.code is HealthCode.HEALTHY:
                context.set_resource_result(
                    task, task.status, Phase.SUCCEEDED.value, assessment.verdict.message
                )
            elif assessment.verdict.code is HealthCode.DEGRADED:
                context.set_resource_result(task, task.status, Phase.FAILED.value, assessment.verdict.message)


def _is_waiting(context: SyncContext, tasks: Sequence[SyncTask]) -> bool:
    """Waits for hooks always, for resources only if the sync has several phases or waves."""
    multi_step = bool(tasks) and (tasks[0].phase, tasks[0].wave) != (tasks[-1].phase, tasks[-1].wave)
    running = [task for task in tasks if task.is_running and (multi_step or task.is_hook)]
    if running:
        for task in running:
            if task.live is None:
                _check_exists(context, task)
        context.set_running_phase(running)
        return True
    terminating = [task for task in tasks if task.status == Code.PRUNED and task.is_being_deleted]
    if terminating:
        context.set_running_phase(terminating, for_deletion=True)
    return bool(terminating)


def _check_exists(context: SyncContext, task: SyncTask) -> None:
    """Records an error if an applied object does not exist any more."""
    try:
        resource_ops.read(context.cluster_ops, task)
    except Refused as problem:
        if problem.reason is Reason.NOT_FOUND:
            context.set_resource_result(
                task,
                Code.SYNC_FAILED,
                Phase.ERROR.value,
                f"Resource {task.label} is missing, it might have been deleted",
            )
        else:
            context.set_resource_result(
                task, task.status, Phase.ERROR.value, f"Failed to get live resource {problem.message}"
            )


def _run_wave(
    context: SyncContext,
    pending: Sequence[SyncTask],
    fail_hooks: Sequence[SyncTask],
    *,
    on_success: Sequence[SyncTask],
    on_failure: Sequence[SyncTask],
) -> None:
    """Runs the first remaining wave of the first remaining phase."""
    phase, wave = pending[0].phase, pending[0].wave
    final = (phase, wave) == (pending[-1].phase, pending[-1].wave)
    tasks = [task for task in pending if (task.phase, task.wave) == (phase, wave)]
    is_last = len(tasks) == len(pending)
    context.set_operation_phase(Phase.RUNNING, messages.TASKS_RUNNING)
    outcome = run(context, tasks, dry_run=False)
    if outcome is not Outcome.FAILED:
        try:
            context.cluster_ops.pause(phase, wave, final=final)
        except Refused as problem:
            terminate_hooks(context, tasks)
            context.set_operation_phase(Phase.ERROR, f"SyncWaveHook failed: {problem.message}")
            return
    match outcome:
        case Outcome.FAILED:
            _after_failure(context, tasks, fail_hooks, on_failure)
        case Outcome.SUCCESSFUL if is_last and not any(task.is_hook for task in tasks):
            # The health of the last wave is not awaited: the sync succeeds even if it degrades later.
            delete_hooks(context, on_success)
            context.set_operation_phase(Phase.SUCCEEDED, messages.ALL_TASKS_RUN)
        case Outcome.SUCCESSFUL:
            context.set_running_phase(tasks)
        case Outcome.PENDING:
            blocking = [
                task
                for task in tasks
                if task.is_deleted_before_creation or (task.is_prune and task.is_pending)
            ]
            context.set_running_phase(blocking, for_deletion=True)


def _after_failure(
    context: SyncContext,
    tasks: Sequence[SyncTask],
    fail_hooks: Sequence[SyncTask],
    on_failure: Sequence[SyncTask],
) -> None:
    """Starts the SyncFail hooks at once, and waits for other applied objects before the sync fails."""
    refused = [task for task in tasks if task.was_refused]
    running = [task for task in tasks if task.is_running]
    if not running:
        if execute_sync_fail_phase(context, fail_hooks, refused, messages.OBJECTS_FAILED):
            delete_hooks(context, on_failure)
        return
    if fail_hooks and not execute_sync_fail_phase(context, fail_hooks, refused, messages.OBJECTS_FAILED):
        running += fail_hooks
    context.set_running_phase(running)


def execute_sync_fail_phase(
    step: SyncContext, hooks: Sequence[SyncTask], refused: Sequence[SyncTask], message: str
) -> bool:
    """Runs the SyncFail hooks before the sync fails; true if the operation has ended.

    Mirrors gitops-engine `executeSyncFailPhase`, Argo CD 3.6. `refused` are tasks that could not be applied.
    """
    failure = messages.with_reasons(message, refused)
    if all(hook.is_completed for hook in hooks):
        failed = [hook for hook in hooks if hook.was_refused]
        step.set_operation_phase(Phase.FAILED, messages.with_failed_hooks(failure, failed))
        return True
    waiting = [hook for hook in hooks if hook.is_pending]
    run(step, waiting, dry_run=False)
    step.set_running_phase(waiting)
    return False


def dry_run_all(step: SyncContext, tasks: Sequence[SyncTask]) -> bool:
    """A dry run of all phases and waves, before anything is changed; true if the operation may continue.

    It is kubectl's client-side dry run, even with server-side apply. It finds unknown kinds and malformed
    objects, but not immutable fields, admission or quotas; those fail when the wave is applied. Mirrors the
    start of gitops-engine `Sync`, Argo CD 3.6.

    A destination namespace that this sync creates is really created before the dry run, which could not check
    the objects in it otherwise.
    """
    remaining = list(tasks)
    namespace = _namespace_to_create(step, tasks)
    if namespace is not None:
        if run(step, [namespace], dry_run=False) is Outcome.FAILED:
            execute_sync_fail_phase(step, [], [namespace], messages.NAMESPACE_FAILED)
            return False
        remaining.remove(namespace)
    if step.options.out_of_sync_only:
        remaining = [task for task in remaining if not step.is_unmodified(task)]
    if run(step, remaining, dry_run=True) is Outcome.FAILED:
        step.set_operation_phase(Phase.FAILED, messages.DRY_RUN_FAILED)
        return False
    return True


def _namespace_to_create(step: SyncContext, tasks: Sequence[SyncTask]) -> SyncTask | None:
    name = step.request.namespace
    return next((task for task in tasks if task.live is None and is_namespace(task.target, name)), None)


# Runs the tasks of a wave: removes old finalizers, prunes, deletes old hooks, then applies objects.
#
# Mirrors gitops-engine `runTasks`, Argo CD 3.6; differs: sequential, while upstream works in parallel. A
# failure in one of the first three ends the run. An object that cannot be applied does not stop the others:
# the wave is applied as a whole before it fails.


class Outcome(IntEnum):
    """The outcome of a run, in increasing severity."""

    SUCCESSFUL = 0
    PENDING = 1
    """A deletion or a confirmation is pending before the rest can run."""
    FAILED = 2


def run(step: SyncContext, tasks: Sequence[SyncTask], *, dry_run: bool) -> Outcome:
    """A dry run records only failures, unless the whole operation is a dry run."""
    dry_run = dry_run or step.options.dry_run
    prunes = [task for task in tasks if task.is_prune]
    creations = [task for task in tasks if not task.is_prune]
    if not dry_run and not _remove_old_finalizers(step, tasks):
        return Outcome.FAILED
    if any(step.requires_prune_confirmation(task) for task in prunes):
        return Outcome.PENDING
    if not _prune(step, prunes, dry_run=dry_run):
        return Outcome.FAILED
    if not dry_run:
        outcome = _delete_old_hooks(step, creations)
        if outcome is not Outcome.SUCCESSFUL:
            return outcome
    return _apply(step, creations, dry_run=dry_run)


def _remove_old_finalizers(step: SyncContext, tasks: Sequence[SyncTask]) -> bool:
    """Removes the finalizer from hooks of an earlier sync."""
    freed = True
    for task in tasks:
        if task.is_hook and task.is_pending and task.live is not None:
            try:
                remove_finalizer(step.cluster_ops, task)
            except Refused as problem:
                message = f"failed to remove hook finalizer: {problem.message}"
                step.set_resource_result(task, task.status, Phase.ERROR.value, message)
                freed = False
    return freed


def _prune(step: SyncContext, tasks: Sequence[SyncTask], *, dry_run: bool) -> bool:
    pruned = True
    for task in tasks:
        code, message = prune_object(step, task, dry_run=dry_run)
        if code is Code.SYNC_FAILED:
            pruned = False
        if not dry_run or step.options.dry_run or code is Code.SYNC_FAILED:
            step.set_resource_result(task, code, PHASE_OF[code], message)
    return pruned


def _delete_old_hooks(step: SyncContext, tasks: Sequence[SyncTask]) -> Outcome:
    """`BeforeHookCreation`: deletes the existing hook; the new one is created in a later step."""
    outcome = Outcome.SUCCESSFUL
    for task in [task for task in tasks if task.is_deleted_before_creation]:
        try:
            resource_ops.delete(step.cluster_ops, task, step.options.propagation)
            outcome = max(outcome, Outcome.PENDING)
        except Refused as problem:
            if problem.reason is Reason.NOT_FOUND:
                task.live = None
                continue
            step.set_resource_result(
                task, task.status, Phase.ERROR.value, messages.not_deleted(problem.message)
            )
            outcome = Outcome.FAILED
    return outcome


def _apply(step: SyncContext, tasks: Sequence[SyncTask], *, dry_run: bool) -> Outcome:
    outcome = Outcome.SUCCESSFUL
    for task in tasks:
        if task.target is None or (dry_run and task.skips_dry_run):
            continue
        code, message = apply_object(step, task.target, task.live, dry_run=dry_run)
        if code is Code.SYNC_FAILED:
            outcome = Outcome.FAILED
        if not dry_run or step.options.dry_run or code is Code.SYNC_FAILED:
            phase = PHASE_OF[code]
            if step.options.dry_run and phase == Phase.RUNNING:
                phase = Phase.SUCCEEDED.value  # nothing was created that could become healthy
            step.set_resource_result(task, code, phase, message)
    return outcome


def apply_object(
    step: SyncContext, target: Object, live: Object | None, *, dry_run: bool
) -> tuple[Code, str]:
    """The result, with the message of kubectl or the API server. Mirrors `applyObject`, Argo CD 3.6."""
    plan = write_plan(target, live, step.options, dry_run=dry_run)
    cluster_ops, request = step.cluster_ops, step.request
    if plan.migrates and live is not None:
        old = step.options.migration_manager
        try:
            migrate(cluster_ops, live, from_manager=old, to_manager=request.manager)
        except Refused as problem:
            return (
                Code.SYNC_FAILED,
                f"Failed to perform client-side apply migration for {ref_of(live).key}: {problem.message}",
            )
    mode = Mode(
        dry_run=dry_run,
        force=plan.force,
        validate=plan.validate,
        server_side=plan.method is ApplyMethod.SERVER_SIDE_APPLY,
        manager=request.manager,
    )
    try:
        message = _write(cluster_ops, target, live, plan, mode)
    except Refused as problem:
        return Code.SYNC_FAILED, problem.message
    return Code.SYNCED, message


def _write(cluster_ops: ClusterOps, target: Object, live: Object | None, plan: WritePlan, mode: Mode) -> str:
    match plan.method:
        case ApplyMethod.APPLY | ApplyMethod.SERVER_SIDE_APPLY:
            return cluster_ops.apply(target, mode)
        case ApplyMethod.CREATE:
            return cluster_ops.create(target, mode)
        case ApplyMethod.REPLACE:
            return cluster_ops.replace(target, mode)
        case ApplyMethod.UPDATE:
            # replacing a Namespace or a CRD could delete and recreate it with all its contents
            meta = {**fields(target.get("metadata"))}
            version = dig(live or {}, "metadata", "resourceVersion")
            if isinstance(version, str):
                meta["resourceVersion"] = version
            cluster_ops.update({**target, "metadata": meta}, dry_run=mode.dry_run)
            ref = ref_of(target)
            return f"{ref.kind}/{ref.name} updated"


def prune_object(step: SyncContext, task: SyncTask, *, dry_run: bool) -> tuple[Code, str]:
    """Deletes an object that Git no longer has, if it may be. Mirrors `pruneObject`, Argo CD 3.6."""
    live = task.live or {}
    decision = prune_decision(live, step.options, confirmed=True)
    if decision is not PruneDecision.PRUNED:
        return Code.PRUNE_SKIPPED, decision.message
    if dry_run:
        return Code.PRUNED, messages.PRUNED_IN_DRY_RUN
    if not task.is_being_deleted:  # a second request is not needed
        try:
            step.cluster_ops.delete(ref_of(live), step.options.propagation)
        except Refused as problem:
            return Code.SYNC_FAILED, problem.message
    return Code.PRUNED, decision.message

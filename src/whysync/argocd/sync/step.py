"""An operation, one step at a time: `step` as long as it runs, `terminate` where somebody has had enough.

A step makes the list of tasks anew, lays the results so far over it, and does what comes next: one wave of
one phase at most. What it returns is all that the next step needs, so an operation can be kept and resumed.
How long to wait between two steps is the caller's affair; Argo CD takes the next when a resource of the app
changes, or after 30 seconds. Mirrors gitops-engine `Sync` and `Terminate`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from whysync.argocd.api.application import HealthCode, Phase
from whysync.argocd.hooks import DeletePolicy, SyncPhase
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as access
from whysync.argocd.sync.cluster_ops import ClusterOps, Reason, Refused
from whysync.argocd.sync.hooks import delete_hooks, end_hooks, free_completed, judged
from whysync.argocd.sync.request import Request, is_namespace
from whysync.argocd.sync.results import Code, State
from whysync.argocd.sync.run_tasks import Outcome, run
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask
from whysync.argocd.sync.tasks import plan


def step(state: State, request: Request, cluster_ops: ClusterOps) -> State:
    """The operation after its next step; a finished one is returned unchanged."""
    if state.is_finished:
        return state
    now = Step(state, request, cluster_ops)
    _advance(now)
    return now.state


def terminate(state: State, request: Request, cluster_ops: ClusterOps) -> State:
    """End it: running hooks are deleted, what was applied stays."""
    if state.is_finished:
        return state
    now = Step(state, request, cluster_ops)
    works = plan(now).works
    free_completed(now, works)
    if end_hooks(now, works):
        now.say(Phase.FAILED, messages.TERMINATED)
    else:
        now.say(Phase.ERROR, messages.TERMINATED_WITH_ERRORS)
    return now.state


def _advance(now: Step) -> None:
    planned = plan(now)
    if not planned.is_valid:
        refused = (result.message for result in now.results if result.status == Code.SYNC_FAILED)
        return now.say(Phase.FAILED, messages.not_valid(refused))
    works = planned.works
    if not now.has_begun and not dry_run_all(now, works):
        return None
    _look_at_running(now, works)
    if _is_waiting(now, works):
        return None
    free_completed(now, works)
    # Whether hooks are deleted hangs on how the whole sync ends, not on how they ended themselves.
    # Upstream frees and deletes them in a dry run too, where one of an earlier sync is still there.
    ready = [work for work in works if not work.is_running]
    on_success = [work for work in ready if work.is_deleted_on(DeletePolicy.HOOK_SUCCEEDED)]
    on_failure = [work for work in ready if work.is_deleted_on(DeletePolicy.HOOK_FAILED)]
    fail_hooks = [work for work in works if work.phase == SyncPhase.SYNC_FAIL]
    others = [work for work in works if work.phase != SyncPhase.SYNC_FAIL]
    if any(work.has_failed for work in others):
        delete_hooks(now, on_failure)
        refused = [work for work in others if work.was_refused]
        execute_sync_fail_phase(now, fail_hooks, refused, messages.TASKS_FAILED)
        return None
    pending = [work for work in others if work.is_pending]
    if now.options.out_of_sync_only:
        pending = [work for work in pending if not now.is_unmodified(work)]
    if not pending:
        delete_hooks(now, on_success)
        return now.say(Phase.SUCCEEDED, messages.NO_MORE_TASKS)
    return _run_wave(now, pending, fail_hooks, on_success=on_success, on_failure=on_failure)


def _look_at_running(now: Step, works: Sequence[SyncTask]) -> None:
    """What was applied earlier is judged by its health."""
    for work in works:
        if not work.is_running or work.live is None:
            continue
        if work.is_hook:
            outcome = judged(now.cluster_ops, work.live)
            if outcome.error is None:
                now.record(work, work.status, outcome.phase, outcome.message)
            else:
                now.record(work, work.status, Phase.ERROR.value, messages.no_health(outcome.error))
            continue
        assessment = now.cluster_ops.health(work.live)
        if assessment is None:
            now.record(work, work.status, Phase.SUCCEEDED.value, work.message)
        elif assessment.error is None:
            # Whatever is neither healthy nor degraded keeps the wave waiting, for as long as it takes.
            if assessment.verdict.code is HealthCode.HEALTHY:
                now.record(work, work.status, Phase.SUCCEEDED.value, assessment.verdict.message)
            elif assessment.verdict.code is HealthCode.DEGRADED:
                now.record(work, work.status, Phase.FAILED.value, assessment.verdict.message)


def _is_waiting(now: Step, works: Sequence[SyncTask]) -> bool:
    """Hooks are always waited for, resources only where something comes after or before them."""
    multi_step = bool(works) and (works[0].phase, works[0].wave) != (works[-1].phase, works[-1].wave)
    running = [work for work in works if work.is_running and (multi_step or work.is_hook)]
    if running:
        for work in running:
            if work.live is None:
                _look_for(now, work)
        now.say_waiting(running)
        return True
    leaving = [work for work in works if work.status == Code.PRUNED and work.is_being_deleted]
    if leaving:
        now.say_waiting(leaving, for_deletion=True)
    return bool(leaving)


def _look_for(now: Step, work: SyncTask) -> None:
    """It was applied, and the comparison does not see it: was it deleted meanwhile?"""
    try:
        access.read(now.cluster_ops, work)
    except Refused as problem:
        if problem.reason is Reason.NOT_FOUND:
            now.record(work, Code.SYNC_FAILED, Phase.ERROR.value, messages.missing(work))
        else:
            now.record(work, work.status, Phase.ERROR.value, messages.not_read(problem.message))


def _run_wave(
    now: Step,
    pending: Sequence[SyncTask],
    fail_hooks: Sequence[SyncTask],
    *,
    on_success: Sequence[SyncTask],
    on_failure: Sequence[SyncTask],
) -> None:
    """The first wave of the first phase that is left."""
    phase, wave = pending[0].phase, pending[0].wave
    final = (phase, wave) == (pending[-1].phase, pending[-1].wave)
    works = [work for work in pending if (work.phase, work.wave) == (phase, wave)]
    is_last = len(works) == len(pending)
    now.say(Phase.RUNNING, messages.TASKS_RUNNING)
    outcome = run(now, works, dry_run=False)
    if outcome is not Outcome.FAILED:
        try:
            now.cluster_ops.pause(phase, wave, final=final)
        except Refused as problem:
            end_hooks(now, works)
            now.say(Phase.ERROR, messages.pause_failed(problem.message))
            return
    match outcome:
        case Outcome.FAILED:
            _after_failure(now, works, fail_hooks, on_failure)
        case Outcome.SUCCESSFUL if is_last and not any(work.is_hook for work in works):
            # Nobody waits for the health of the last wave: the sync succeeds even if it degrades later.
            delete_hooks(now, on_success)
            now.say(Phase.SUCCEEDED, messages.ALL_TASKS_RUN)
        case Outcome.SUCCESSFUL:
            now.say_waiting(works)
        case Outcome.PENDING:
            held = [w for w in works if w.is_deleted_before_creation or (w.is_prune and w.is_pending)]
            now.say_waiting(held, for_deletion=True)


def _after_failure(
    now: Step, works: Sequence[SyncTask], fail_hooks: Sequence[SyncTask], on_failure: Sequence[SyncTask]
) -> None:
    """What was applied beside the failure is waited for first; the hooks of SyncFail start at once."""
    refused = [work for work in works if work.was_refused]
    running = [work for work in works if work.is_running]
    if not running:
        if execute_sync_fail_phase(now, fail_hooks, refused, messages.OBJECTS_FAILED):
            delete_hooks(now, on_failure)
        return
    if fail_hooks and not execute_sync_fail_phase(now, fail_hooks, refused, messages.OBJECTS_FAILED):
        running += fail_hooks
    now.say_waiting(running)


def execute_sync_fail_phase(
    step: Step, hooks: Sequence[SyncTask], refused: Sequence[SyncTask], message: str
) -> bool:
    """Runs the SyncFail hooks before the sync fails. Is the operation over?

    Mirrors gitops-engine `executeSyncFailPhase`, Argo CD 3.6. `refused` are tasks that could not be applied.

    If not, the hooks were started, and the operation keeps running until they are done.
    """
    failure = messages.with_reasons(message, refused)
    if all(hook.is_completed for hook in hooks):
        failed = [hook for hook in hooks if hook.was_refused]
        step.say(Phase.FAILED, messages.with_failed_hooks(failure, failed))
        return True
    waiting = [hook for hook in hooks if hook.is_pending]
    run(step, waiting, dry_run=False)
    step.say_waiting(waiting)
    return False


def dry_run_all(step: Step, works: Sequence[SyncTask]) -> bool:
    """A dry run of all phases and waves, before anything is changed. May the operation continue?

    It is kubectl's client-side dry run, even with server-side apply. It finds unknown kinds and malformed
    objects, but not immutable fields, admission or quotas; those fail when the wave is applied. Mirrors the
    start of gitops-engine `Sync`, Argo CD 3.6.

    A destination namespace that this sync creates is created for real, and first: without it much of the
    rest could not be tried.
    """
    tried = list(works)
    namespace = _namespace_to_create(step, works)
    if namespace is not None:
        if run(step, [namespace], dry_run=False) is Outcome.FAILED:
            execute_sync_fail_phase(step, [], [namespace], messages.NAMESPACE_FAILED)
            return False
        tried.remove(namespace)
    if step.options.out_of_sync_only:
        tried = [work for work in tried if not step.is_unmodified(work)]
    if run(step, tried, dry_run=True) is Outcome.FAILED:
        step.say(Phase.FAILED, messages.DRY_RUN_FAILED)
        return False
    return True


def _namespace_to_create(step: Step, works: Sequence[SyncTask]) -> SyncTask | None:
    name = step.request.namespace
    return next((work for work in works if work.live is None and is_namespace(work.target, name)), None)

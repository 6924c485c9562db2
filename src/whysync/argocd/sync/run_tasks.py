"""Runs the tasks of a wave: removes old finalizers, prunes, deletes old hooks, then applies objects.

Mirrors gitops-engine `runTasks`, Argo CD 3.6; differs: sequential, while upstream works in parallel. A
failure in one of the first three ends the run. An object that cannot be applied does not stop the others: the
wave is applied as a whole before it fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as resource_ops
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.csa_migration import migrate
from whysync.argocd.sync.hooks import remove_finalizer
from whysync.argocd.sync.options import ApplyMethod, PruneDecision, WritePlan, prune_decision, write_plan
from whysync.argocd.sync.results import PHASE_OF, Code
from whysync.argocd.sync.sync_context import SyncContext
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of


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

"""Tasks carried out: old finalizers off, prunes, old hooks deleted, then everything applied.

Mirrors gitops-engine `runTasks`, Argo CD 3.6; differs: one after the other, where upstream works in parallel.
A failure in one of the first three ends the run. Among the objects that are applied, one that fails keeps no
other from being applied too: a wave is done as a whole, and only then it has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from whysync.argocd.api.application import Phase
from whysync.argocd.sync import messages
from whysync.argocd.sync import resource_ops as access
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.csa_migration import migrate
from whysync.argocd.sync.hooks import remove_finalizer
from whysync.argocd.sync.options import ApplyMethod, PruneDecision, Writing, prune_fate, writing_of
from whysync.argocd.sync.request import is_definition
from whysync.argocd.sync.results import PHASE_OF, Code
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of


class Outcome(IntEnum):
    """The worst of what happened counts."""

    SUCCESSFUL = 0
    PENDING = 1
    """Something has to be deleted, or to be confirmed, before the rest can be done."""
    FAILED = 2


def run(step: Step, works: Sequence[SyncTask], *, dry_run: bool) -> Outcome:
    """A dry run leaves no results behind, but for failures; unless the whole operation is one."""
    dry_run = dry_run or step.options.dry_run
    prunes = [work for work in works if work.is_prune]
    creations = [work for work in works if not work.is_prune]
    if not dry_run and not _free_old_hooks(step, works):
        return Outcome.FAILED
    if any(step.asks_first(work) for work in prunes):
        return Outcome.PENDING
    if not _prune(step, prunes, dry_run=dry_run):
        return Outcome.FAILED
    if not dry_run:
        outcome = _delete_old_hooks(step, creations)
        if outcome is not Outcome.SUCCESSFUL:
            return outcome
    return _apply(step, creations, dry_run=dry_run)


def _free_old_hooks(step: Step, works: Sequence[SyncTask]) -> bool:
    """Hooks that an earlier sync left behind must not be held by its finalizer."""
    freed = True
    for work in works:
        if work.is_hook and work.is_pending and work.live is not None:
            try:
                remove_finalizer(step.cluster_ops, work)
            except Refused as problem:
                message = messages.old_finalizer_stays(problem.message)
                step.record(work, work.status, Phase.ERROR.value, message)
                freed = False
    return freed


def _prune(step: Step, works: Sequence[SyncTask], *, dry_run: bool) -> bool:
    pruned = True
    for work in works:
        code, message = prune_object(step, work, dry_run=dry_run)
        if code is Code.SYNC_FAILED:
            pruned = False
        if not dry_run or step.options.dry_run or code is Code.SYNC_FAILED:
            step.record(work, code, PHASE_OF[code], message)
    return pruned


def _delete_old_hooks(step: Step, works: Sequence[SyncTask]) -> Outcome:
    """`BeforeHookCreation`: what is still there goes first, and the hook is created in a later step."""
    outcome = Outcome.SUCCESSFUL
    for work in [work for work in works if work.is_deleted_before_creation]:
        try:
            access.delete(step.cluster_ops, work, step.options.propagation)
            outcome = max(outcome, Outcome.PENDING)
        except Refused as problem:
            if problem.reason is Reason.NOT_FOUND:
                work.live = None
                continue
            step.record(work, work.status, Phase.ERROR.value, messages.not_deleted(problem.message))
            outcome = Outcome.FAILED
    return outcome


def _apply(step: Step, works: Sequence[SyncTask], *, dry_run: bool) -> Outcome:
    outcome = Outcome.SUCCESSFUL
    for work in works:
        if work.target is None or (dry_run and work.skips_dry_run):
            continue
        code, message = apply_object(step, work.target, work.live, dry_run=dry_run)
        if code is Code.SYNC_FAILED:
            outcome = Outcome.FAILED
        if not dry_run or step.options.dry_run or code is Code.SYNC_FAILED:
            phase = PHASE_OF[code]
            if step.options.dry_run and phase == Phase.RUNNING:
                phase = Phase.SUCCEEDED.value  # nothing was created that could become healthy
            step.record(work, code, phase, message)
    return outcome


def apply_object(step: Step, target: Object, live: Object | None, *, dry_run: bool) -> tuple[Code, str]:
    """The result, with the message of kubectl or the API server. Mirrors `applyObject`, Argo CD 3.6."""
    writing = writing_of(target, live, step.options, dry_run=dry_run)
    cluster_ops, request = step.cluster_ops, step.request
    if writing.migrates and live is not None:
        old = step.options.migration_manager
        try:
            migrate(cluster_ops, live, from_manager=old, to_manager=request.manager)
        except Refused as problem:
            return Code.SYNC_FAILED, messages.not_migrated(str(ref_of(live).key), problem.message)
    mode = Mode(
        dry_run=dry_run,
        force=writing.force,
        validate=writing.validate,
        server_side=writing.method is ApplyMethod.SERVER_SIDE_APPLY,
        manager=request.manager,
    )
    try:
        message = _written(cluster_ops, target, live, writing, mode)
    except Refused as problem:
        return Code.SYNC_FAILED, problem.message
    if is_definition(target) and not dry_run:
        cluster_ops.established(ref_of(target).name)
    return Code.SYNCED, message


def _written(
    cluster_ops: ClusterOps, target: Object, live: Object | None, writing: Writing, mode: Mode
) -> str:
    match writing.method:
        case ApplyMethod.APPLY | ApplyMethod.SERVER_SIDE_APPLY:
            return cluster_ops.apply(target, mode)
        case ApplyMethod.CREATE:
            return cluster_ops.create(target, mode)
        case ApplyMethod.REPLACE:
            return cluster_ops.replace(target, mode)
        case ApplyMethod.UPDATE:
            # replacing a Namespace or a definition could delete and recreate it, and all that hangs on it
            meta = {**fields(target.get("metadata"))}
            version = dig(live or {}, "metadata", "resourceVersion")
            if isinstance(version, str):
                meta["resourceVersion"] = version
            cluster_ops.update({**target, "metadata": meta}, dry_run=mode.dry_run)
            ref = ref_of(target)
            return messages.updated(ref.kind, ref.name)


def prune_object(step: Step, work: SyncTask, *, dry_run: bool) -> tuple[Code, str]:
    """Deletes an object that Git no longer has, if it may be. Mirrors `pruneObject`, Argo CD 3.6."""
    live = work.live or {}
    fate = prune_fate(live, step.options, confirmed=True)
    if fate is not PruneDecision.PRUNED:
        return Code.PRUNE_SKIPPED, fate.message
    if dry_run:
        return Code.PRUNED, messages.PRUNED_IN_DRY_RUN
    if not work.is_being_deleted:  # to ask again would only make noise
        try:
            step.cluster_ops.delete(ref_of(live), step.options.propagation)
        except Refused as problem:
            return Code.SYNC_FAILED, problem.message
    return Code.PRUNED, fate.message

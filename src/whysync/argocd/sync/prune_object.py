"""One object that Git no longer has. Mirrors `pruneObject`, Argo CD 3.6."""

from __future__ import annotations

from whysync.argocd.sync import messages
from whysync.argocd.sync.cluster_ops import Refused
from whysync.argocd.sync.options import PruneDecision, prune_fate
from whysync.argocd.sync.results import Code
from whysync.argocd.sync.step_context import Step
from whysync.argocd.sync.sync_task import SyncTask
from whysync.kubernetes.api.ref import ref_of


def prune_object(step: Step, work: SyncTask, *, dry_run: bool) -> tuple[Code, str]:
    """Deletes it, if it may; whoever has to confirm that was asked before."""
    live = work.live or {}
    fate = prune_fate(live, step.options, confirmed=True)
    if fate is not PruneDecision.PRUNED:
        return Code.PRUNE_SKIPPED, fate.message
    if dry_run:
        return Code.PRUNED, messages.PRUNED_IN_DRY_RUN
    if not work.is_being_deleted:  # to ask again would only make noise
        try:
            step.ground.delete(ref_of(live), step.options.propagation)
        except Refused as problem:
            return Code.SYNC_FAILED, problem.message
    return Code.PRUNED, fate.message

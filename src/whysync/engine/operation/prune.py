"""One object that Git no longer has. Mirrors `pruneObject`, Argo CD 3.6."""

from __future__ import annotations

from whysync.contracts.ref import ref_of
from whysync.engine.operation import messages
from whysync.engine.operation.ground import Refused
from whysync.engine.operation.results import Code
from whysync.engine.operation.step_context import Step
from whysync.engine.operation.work import Work
from whysync.semantics.sync import PruneFate, prune_fate


def prune_object(step: Step, work: Work, *, dry_run: bool) -> tuple[Code, str]:
    """Deletes it, if it may; whoever has to confirm that was asked before."""
    live = work.live or {}
    fate = prune_fate(live, step.options, confirmed=True)
    if fate is not PruneFate.PRUNED:
        return Code.PRUNE_SKIPPED, fate.message
    if dry_run:
        return Code.PRUNED, messages.PRUNED_IN_DRY_RUN
    if not work.is_being_deleted:  # to ask again would only make noise
        try:
            step.ground.delete(ref_of(live), step.options.propagation)
        except Refused as problem:
            return Code.SYNC_FAILED, problem.message
    return Code.PRUNED, fate.message

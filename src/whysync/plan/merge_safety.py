"""Is it safe to merge? Irreversible effects of the simulated sync, and those that would have followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from whysync.argocd.app_controller.deletion.finalizers import RESOURCES
from whysync.diagnosis.report import Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.plan.plan import Change, PlannedCluster, Run

_MAX_REASONS: Final = 6
_CLUSTER_DECIDES: Final = frozenset(
    {"Ingress", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Secret", "Service"}
)
"""What is lost with these depends on the cluster: the simulation knows it better than the manifest."""


def safety_of(changes: Iterable[Change], runs: Iterable[Run]) -> Safety:
    """The safety of a plan; what the commit removes counts even if the sync fails before pruning."""
    changes = list(changes)
    simulated = next((_of_commit(run, changes) for run in runs if run.safety is not None), None)
    reasons = list(simulated.reasons) if simulated is not None else []
    reported = {ref.key for reason in reasons for ref in reason.refs}
    harmful = [
        change
        for change in changes
        if change.users
        or (change.is_harmful and not (change.ref.key in reported and change.ref.kind in _CLUSTER_DECIDES))
    ]
    harm = [_deletion(change) for change in harmful]
    stated = {change.ref.key for change in harmful}
    reasons = [
        reason
        for reason in reasons
        if reason.kind is not ReasonKind.DELETES
        or not reason.refs
        or {ref.key for ref in reason.refs} - stated
    ]
    if harm or (simulated is not None and simulated.sync is SyncSafety.UNSAFE):
        outcome = simulated.outcome if simulated is not None else SyncOutcome.UNKNOWN
        return Safety(
            sync=SyncSafety.UNSAFE, outcome=outcome, reasons=tuple([*harm, *reasons][:_MAX_REASONS])
        )
    return simulated if simulated is not None else Safety(sync=SyncSafety.SAFE)


def _of_commit(run: Run, changes: Iterable[Change]) -> Safety | None:
    """The safety of a run without what any sync of the base would do as well.

    An autoscaler has changed the replicas of the base: that a sync sets them back is not due to the commit.
    """
    if run.safety is None or run.cluster is not PlannedCluster.BASE:
        return run.safety
    changed = {change.ref.key for change in changes}
    reasons = tuple(
        reason
        for reason in run.safety.reasons
        if reason.kind is not ReasonKind.DROPS_PODS or any(ref.key in changed for ref in reason.refs)
    )
    if reasons == run.safety.reasons:
        return run.safety
    return replace(run.safety, reasons=reasons, sync=run.safety.sync if reasons else SyncSafety.SAFE)


def safety_of_removal(changes: Iterable[Change], *, cascades: bool, is_generated: bool) -> Safety:
    """The safety of an Application that leaves Git or its ApplicationSet.

    The first reason names no app: a plan states it once for all of them.
    """
    gone = (
        "its ApplicationSet no longer generates the Application: Argo CD deletes it, and its resources"
        if is_generated
        else "the Application is no longer in Git: if Argo CD prunes it, its resources"
    )
    fate = (
        f"are deleted with it (finalizer {RESOURCES})"
        if cascades
        else "stay in the cluster, no longer managed"
    )
    harm = [_deletion(change) for change in changes if change.is_harmful]
    reasons = [Reason(kind=ReasonKind.DELETES, text=f"{gone} {fate}"), *harm]
    return Safety(sync=SyncSafety.UNSAFE, outcome=SyncOutcome.UNKNOWN, reasons=tuple(reasons[:_MAX_REASONS]))


def _deletion(change: Change) -> Reason:
    text = f"it deletes {change.ref}: {change.risk}"
    return Reason(kind=ReasonKind.DELETES, text=text, refs=(change.ref,))

"""Is it safe to merge? Irreversible effects of the simulated sync, and those that would have followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.diagnosis.report import Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.plan.plan import Change, ChangeKind, Run

_MAX_REASONS: Final = 6


def safety_of(changes: Iterable[Change], runs: Iterable[Run]) -> Safety:
    """The safety of a plan; what the commit removes counts even if the sync fails before pruning."""
    simulated = next((run.safety for run in runs if run.safety is not None), None)
    reasons = list(simulated.reasons) if simulated is not None else []
    reported = {ref.key for reason in reasons for ref in reason.refs}
    harm: list[Reason] = []
    for change in changes:
        if change.sort is ChangeKind.PRUNE and change.risk and change.ref.key not in reported:
            text = f"it deletes {change.ref}: {change.risk}"
            harm.append(Reason(kind=ReasonKind.DELETES, text=text, refs=(change.ref,)))
    if harm or (simulated is not None and simulated.sync is SyncSafety.UNSAFE):
        outcome = simulated.outcome if simulated is not None else SyncOutcome.UNKNOWN
        return Safety(
            sync=SyncSafety.UNSAFE, outcome=outcome, reasons=tuple([*harm, *reasons][:_MAX_REASONS])
        )
    return simulated if simulated is not None else Safety(sync=SyncSafety.SAFE)

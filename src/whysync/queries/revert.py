"""Reverts a change that the API server rejected: sets Git to the live values.

Nothing of such a change was applied, so the live object has the previous values. That is true only for
differences of a new commit: other differences were made by others, and must not be written to Git.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from whysync.argocd.api.application import HealthCode
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.kubernetes.api.ref import Ref
from whysync.queries.drift import live_values

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MOST = 12
_BAD = (HealthCode.DEGRADED, HealthCode.MISSING, HealthCode.UNKNOWN)


def revert_in_git(case: Case, ref: Ref) -> Fix | None:
    live = case.live_of(ref.key)
    drifts = [
        drift for drift in case.drifts if drift.ref.key == ref.key and drift.pointer != TRACKING_ID_POINTER
    ]
    if live is None or not drifts or len(drifts) > _MOST:
        return None
    health = case.health_of(live)
    if health is not None and health.code in _BAD:
        return None
    if any(mechanism_of(case, drift) is not Mechanism.NOT_SYNCED_YET for drift in drifts):
        return None
    return Fix.change(
        ref,
        *live_values(drifts),
        title="Or revert the change: set Git to the live values",
        risk="the purpose of the change is lost",
    )


def is_reverted_in_git(case: Case, ref: Ref, explains: Iterable[SymptomId]) -> bool:
    """Was the sync of this object rejected, and is the change already reverted in Git?

    Objects that are rejected later, such as its Pods, do not count: Git and the cluster never differed.
    """
    if not any(explain.kind is SymptomKind.RESULT for explain in explains):
        return False
    resource = case.compared(ref.key)
    return resource is not None and resource.has_both_sides and not resource.is_modified

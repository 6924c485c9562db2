"""Revert a change that the API server refuses: Git gets the values of the live object.

Nothing of such a change has arrived, so the cluster shows what was before it. That holds only where Git has
moved on since the last sync: other differences have other makers, and would be written into Git with it.
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
        title="Or take the change back: in Git as it runs",
        risk="what the change was for is not there then",
    )


def is_reverted_in_git(case: Case, ref: Ref, explains: Iterable[SymptomId]) -> bool:
    """Was the sync of this object refused, and does Git say by now what runs? Then it is not written again.

    What is refused later, such as its Pods, is another story: there Git and the cluster never differed.
    """
    if not any(explain.kind is SymptomKind.RESULT for explain in explains):
        return False
    resource = case.compared(ref.key)
    return resource is not None and resource.has_both_sides and not resource.is_modified

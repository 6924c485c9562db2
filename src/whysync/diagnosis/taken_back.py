"""A change that the API server refuses, taken back: Git as the live object is, which goes on running.

Nothing of such a change has arrived, so the cluster shows what was before it. That holds only where Git has
moved on since the last sync: other differences have other makers, and would be written into Git with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.contracts.application import HealthCode
from whysync.contracts.ref import Ref
from whysync.contracts.tree import MISSING, Missing
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.diagnosis.mechanism import TRACKING_ID, behind_git

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MOST = 12
_BAD = (HealthCode.DEGRADED, HealthCode.MISSING, HealthCode.UNKNOWN)


def taken_back(case: Case, ref: Ref) -> Fix | None:
    live = case.live_of(ref.key)
    drifts = [one for one in case.drifts if one.ref.key == ref.key and one.pointer != TRACKING_ID]
    if live is None or not drifts or len(drifts) > _MOST or not behind_git(case):
        return None
    health = case.health_of(live)
    if (health is not None and health.code in _BAD) or any(drift.only_live for drift in drifts):
        return None
    return Fix.change(
        ref,
        *(_as_live(drift) for drift in drifts),
        title="Or take the change back: in Git as it runs",
        risk="what the change was for is not there then",
    )


def _as_live(drift: Drift) -> Edit:
    found = drift.live.at(drift.pointer) if not isinstance(drift.found, Missing) else MISSING
    return (
        Remove(pointer=drift.pointer)
        if isinstance(found, Missing)
        else Set(pointer=drift.pointer, value=found)
    )

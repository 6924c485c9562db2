"""Which resources a proof needs to move: in an app where much is wrong, only those that a finding is about.

What fails a whole sync (an operation, a condition, the result of one resource) concerns all of them.
"""

from __future__ import annotations

from typing import Final

from whysync.contracts.ref import Key
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import SymptomKind

_FEW: Final = 4
_OF_ONE_RESOURCE: Final = frozenset(
    {
        SymptomKind.DIFFERS,
        SymptomKind.MISSING,
        SymptomKind.EXTRA,
        SymptomKind.UNHEALTHY,
        SymptomKind.EVENT,
    }
)


def slice_for(case: Case, finding: Finding) -> frozenset[Key] | None:
    """`None`: all that moves has to."""
    told = [symptom for symptom in case.symptoms if symptom.id in set(finding.explains)]
    failing = case.operation is not None and case.operation.phase != "Succeeded"
    if failing or any(one.kind not in _OF_ONE_RESOURCE or one.ref is None for one in told):
        return None
    if sum(1 for row in case.app.status.resources if row.status == "OutOfSync") <= _FEW:
        return None
    drifts = {drift.symptom: drift.key for drift in case.drifts}
    keys = {drifts.get(one.id) or (one.ref.key if one.ref is not None else None) for one in told}
    return frozenset(key for key in (*keys, finding.about.key) if key is not None)

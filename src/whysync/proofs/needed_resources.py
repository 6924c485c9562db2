"""Which resources a proof needs to move: in an app where much is wrong, only those that a finding is about.

What fails a whole sync (an operation, a condition, the result of one resource) concerns all of them; of very
many that fail alike, some stand for the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import Symptom, SymptomKind
from whysync.kubernetes.api.ref import Key

_FEW: Final = 4
_MANY: Final = 40
_OF_EACH_KIND: Final = 8
_OF_ONE_RESOURCE: Final = frozenset(
    {
        SymptomKind.DIFFERS,
        SymptomKind.MISSING,
        SymptomKind.EXTRA,
        SymptomKind.UNHEALTHY,
        SymptomKind.EVENT,
    }
)
_GROUND: Final = ("Namespace", "CustomResourceDefinition")


def slice_for(case: Case, finding: Finding) -> frozenset[Key] | None:
    """`None`: all that moves has to."""
    keys = explained_keys(case, finding)
    told = _told(case, finding)
    failing = case.operation is not None and case.operation.phase != "Succeeded"
    whole = failing or any(one.kind not in _OF_ONE_RESOURCE or one.ref is None for one in told)
    moving = sum(1 for row in case.app.status.resources if row.status == "OutOfSync")
    if moving > _MANY:
        ground = {desired_object.key for desired_object in case.desired if desired_object.ref.kind in _GROUND}
        others = (
            {result.key for result in case.results if result.status == "SyncFailed"} - keys
            if whole
            else set[Key]()
        )
        return frozenset({*_some(keys), *_some(others), *ground, finding.about.key})
    return None if whole or moving <= _FEW else keys | {finding.about.key}


def explained_keys(case: Case, finding: Finding) -> frozenset[Key]:
    """The resources whose symptoms it explains; where it explains the sync, those that failed in it."""
    drifts = {drift.symptom: drift.key for drift in case.drifts}
    told = _told(case, finding)
    found = {drifts.get(one.id) or (one.ref.key if one.ref is not None else None) for one in told}
    keys = frozenset(key for key in found if key is not None)
    return keys or frozenset(result.key for result in case.results if result.status == "SyncFailed")


def _told(case: Case, finding: Finding) -> list[Symptom]:
    explained = set(finding.explains)
    return [symptom for symptom in case.symptoms if symptom.id in explained]


def _some(keys: Iterable[Key]) -> list[Key]:
    """So many of each kind, in the order of their names."""
    by_kind: defaultdict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys):
        by_kind[key.group, key.kind].append(key)
    return [key for alike in by_kind.values() for key in alike[:_OF_EACH_KIND]]

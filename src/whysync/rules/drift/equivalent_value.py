"""The same value, written differently: nothing really differs.

## What happens
Kubernetes stores a value in its own notation: `1000m` becomes `1`, `5840h` becomes `5840h0m0s`, a number
given as text becomes a number, an empty map or a `false` is not kept at all. For built-in kinds Argo CD knows
this; in custom resources, or once one unknown field stands in the object, it compares letter by letter.

## How whysync knows
Both sides mean the same value: as a quantity, a duration, a number, an empty value, or the same elements in
another order.

## Fix
Write the value in Git as the cluster stores it. For a custom resource, `knownTypeFields` in `argocd-cm`
teaches Argo CD the type of the field.

## When it is something else
A value that differs in meaning; a field that the cluster does not keep because its schema does not know it.
"""

from collections.abc import Iterator

from whysync.diagnosis import (
    Case,
    Confidence,
    Drift,
    Edit,
    Fact,
    Finding,
    Fix,
    Mechanism,
    Remove,
    Set,
    cite,
    rule,
)
from whysync.diagnosis.equivalent_values import Equivalence, reordered_list_of, same_but
from whysync.json_tree import Missing
from whysync.kubernetes.api.ref import Ref


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def equivalent_value(case: Case) -> Iterator[Finding]:
    yield from _reordered(case)
    by_object: dict[str, list[Drift]] = {}
    for drift in case.drifts_by(Mechanism.SAME_VALUE):
        by_object.setdefault(str(drift.ref.key), []).append(drift)
    for drifts in by_object.values():
        first = drifts[0]
        names = ", ".join(dict.fromkeys(drift.last_key for drift in drifts))
        how = same_but(first.wanted, first.found)
        yield Finding(
            about=first.ref,
            field=first.pointer,
            explains=tuple(drift.symptom for drift in drifts),
            confidence=Confidence.HIGH,
            verdict=f"{names} of {first.ref} means the same on both sides: {how}",
            evidence=tuple(evidence for drift in drifts for evidence in drift.cited()),
            fixes=(
                Fix.change(
                    first.ref,
                    *(_as_stored(drift) for drift in drifts),
                    title="Write it in Git as the cluster stores it",
                ),
            ),
        )


def _reordered(case: Case) -> Iterator[Finding]:
    """A list without keys, which a controller or the API server keeps in an order of its own."""
    by_list: dict[tuple[Ref, str], list[Drift]] = {}
    for drift in case.drifts_by(Mechanism.REORDERED):
        around = reordered_list_of(drift.desired.body, drift.live.body, drift.pointer)
        if around is not None:
            by_list.setdefault((drift.ref, around), []).append(drift)
    for (ref, around), drifts in by_list.items():
        first = drifts[0]
        order = first.live.at(around)
        yield Finding(
            about=ref,
            field=around,
            explains=tuple(drift.symptom for drift in drifts),
            confidence=Confidence.HIGH,
            verdict=f"{around} of {ref} means the same on both sides: {Equivalence.ORDER}",
            evidence=(
                cite(first.desired, around, says="Git's order"),
                cite(first.live, around, says="the cluster's order"),
            ),
            fixes=(
                Fix.change(
                    ref,
                    Set(pointer=around, value=None if isinstance(order, Missing) else order),
                    title="Write it in Git in the order in which the cluster keeps it",
                ),
            ),
        )


def _as_stored(drift: Drift) -> Edit:
    if isinstance(drift.found, Missing):
        return Remove(pointer=drift.pointer)
    return Set(pointer=drift.pointer, value=drift.found)

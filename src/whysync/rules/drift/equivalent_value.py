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
    Fact,
    Finding,
    Fix,
    Mechanism,
    Set,
    cite,
    rule,
)
from whysync.diagnosis.drift.equivalent_values import Equivalence, equivalence_of, reordered_list_of
from whysync.json_tree import Missing
from whysync.queries.drift import drift_finding, drifts_by_list, field_names, live_values


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def equivalent_value(case: Case) -> Iterator[Finding]:
    yield from _reordered(case)
    for drifts in case.drifts_by_object(Mechanism.SAME_VALUE):
        first = drifts[0]
        names = field_names(drifts)
        how = equivalence_of(first.desired_value, first.live_value)
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH,
            verdict=f"{names} of {first.ref} means the same on both sides: {how}",
            fixes=(
                Fix.change(
                    first.ref,
                    *live_values(drifts),
                    title="Write it in Git as the cluster stores it",
                ),
            ),
        )


def _reordered(case: Case) -> Iterator[Finding]:
    """A list without keys, which a controller or the API server keeps in an order of its own."""
    for around, drifts in drifts_by_list(case, Mechanism.REORDERED, reordered_list_of):
        first, ref = drifts[0], drifts[0].ref
        order = first.live.at(around)
        yield drift_finding(
            *drifts,
            field=around,
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

"""Git and the cluster have the same value in different notations.

## What happens
Kubernetes stores values in a canonical notation: `1000m` becomes `1`, `5840h` becomes `5840h0m0s`, a number
written as a string becomes a number, an empty map or `false` is omitted. Argo CD normalizes this for built-in
kinds. In custom resources, or if the object has an unknown field, it compares the values literally.

## How whysync knows
Both sides are equal as a quantity, a duration, a number or an empty value, or have the same elements in
another order.

## Fix
Write the value in Git as the cluster stores it. For a custom resource, `knownTypeFields` in `argocd-cm` tells
Argo CD the type of the field.

## When it is something else
The values differ in meaning, or the API server dropped a field that is not in the schema.
"""

from collections.abc import Iterator

from whysync.diagnosis import (
    Case,
    Confidence,
    Drift,
    Fact,
    Finding,
    Fix,
    Mechanism,
    Set,
    cite,
    rule,
)
from whysync.diagnosis.drift.equivalent_values import Equivalence, equivalence_of, reordered_list_of
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.json_tree import Missing
from whysync.queries.drift import drift_finding, drifts_by_list, field_names, live_values, server_side_diff

_NOT_KEPT = "which the cluster does not keep: its controller, a webhook or its CRD removes it"


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def equivalent_value(case: Case) -> Iterator[Finding]:
    yield from _reordered(case)
    for drifts in case.drifts_by_object(Mechanism.SAME_VALUE):
        first = drifts[0]
        names = field_names(drifts)
        equivalence = equivalence_of(first.desired_value, first.live_value)
        yield drift_finding(
            *drifts,
            confidence=_confidence(case, drifts, equivalence),
            verdict=f"Git and the cluster have equivalent values for {names} of {first.ref}:"
            f" {_how(first, equivalence or Equivalence.EMPTY)}",
            fixes=tuple(_fixes(case, drifts)),
        )


def _fixes(case: Case, drifts: tuple[Drift, ...]) -> Iterator[Fix]:
    if all(drift.only_live and drift.live_value is None for drift in drifts):
        yield server_side_diff(case)  # a null in Git is a request to remove the field
        return
    title = "Write it in Git as the cluster stores it"
    yield Fix.change(drifts[0].ref, *live_values(drifts), title=title)


def _how(drift: Drift, equivalence: Equivalence) -> str:
    """The API server stores a custom resource as it was sent: a webhook or controller drops the value."""
    if drift.only_live:
        return "an empty value that the cluster adds and that means the same as none"
    if is_builtin(drift.ref) or not drift.only_git:
        return str(equivalence)
    match equivalence:
        case Equivalence.ZERO:
            return f"the zero value, {_NOT_KEPT}"
        case Equivalence.EMPTY:
            return f"an empty value, {_NOT_KEPT}"
        case _:
            return str(equivalence)


def _confidence(case: Case, drifts: tuple[Drift, ...], equivalence: Equivalence | None) -> Confidence:
    if _is_next_to_others(case, drifts, equivalence):
        return Confidence.LOW
    return Confidence.MEDIUM if equivalence is Equivalence.CASE else Confidence.HIGH


def _is_next_to_others(case: Case, drifts: tuple[Drift, ...], equivalence: Equivalence | None) -> bool:
    """An empty value is rarely what Argo CD reports if other fields of the object differ too."""
    others = (drift for drift in case.drifts if drift.key == drifts[0].key and drift not in drifts)
    return equivalence in (None, Equivalence.EMPTY, Equivalence.ZERO) and any(others)


def _reordered(case: Case) -> Iterator[Finding]:
    """Lists without keys that a controller or the API server stores in another order."""
    for around, drifts in drifts_by_list(case, Mechanism.REORDERED, reordered_list_of):
        first, ref = drifts[0], drifts[0].ref
        order = first.live.at(around)
        yield drift_finding(
            *drifts,
            field=around,
            confidence=Confidence.HIGH,
            verdict=f"Git and the cluster have equivalent values for {around} of {ref}: {Equivalence.ORDER}",
            evidence=(
                cite(first.desired, around, says="order in Git"),
                cite(first.live, around, says="live order"),
            ),
            fixes=(
                Fix.change(
                    ref,
                    Set(pointer=around, value=None if isinstance(order, Missing) else order),
                    title="Use the live order in Git",
                ),
            ),
        )

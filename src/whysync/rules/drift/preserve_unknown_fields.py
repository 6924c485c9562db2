"""A CustomResourceDefinition declares `preserveUnknownFields: false`, which the API server does not store.

## What happens
CRDs written for `apiextensions.k8s.io/v1beta1` often declare `preserveUnknownFields: false`. In `v1` this is
the only value and is omitted when the object is stored, so Git and the cluster always differ. Before 3.0,
Argo CD ignored this difference.

## How whysync knows
Git declares `spec.preserveUnknownFields` of a CRD, and the live object does not have it.

## Fix
Delete the field from the CRD in Git. If the chart cannot be changed, ignore only this field.

## When it is something else
`preserveUnknownFields: true` in the live CRD dates from `v1beta1`: it switches off pruning, and a sync that
declares `false` removes it.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.diagnosis.drift.mechanism import PRESERVE_UNKNOWN
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def preserve_unknown_fields(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.OMITTED_IN_CRD):
        yield drift_finding(
            drift,
            confidence=Confidence.HIGH,
            verdict=f"Git sets preserveUnknownFields of {drift.ref},"
            " which the API server does not store in v1",
            fixes=(
                Fix.remove(
                    drift.ref, PRESERVE_UNKNOWN, title="Delete preserveUnknownFields from the CRD in Git"
                ),
                ignore_field(
                    case, drift.ref, PRESERVE_UNKNOWN, risk="none: the field has only one value in v1"
                ),
            ),
        )

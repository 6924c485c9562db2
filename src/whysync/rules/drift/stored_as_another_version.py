"""The cluster serves the object in another API version than Git declares.

## What happens
A CustomResourceDefinition written for `v1beta1` may declare `preserveUnknownFields: false`. In `v1` this is
the only value and is not stored, so Git and the cluster always differ. A custom resource is stored in one
version of its CRD: what Git declares in another version is returned converted, with fields renamed, added
or removed.

## How whysync knows
`preserveUnknownFields` of a CRD or the `apiVersion` of a custom resource differs.

## Fix
Delete `preserveUnknownFields` from the CRD in Git. Declare the custom resource in the version that the
cluster serves. If the chart cannot be changed, ignore only this field.

## When it is something else
If a conversion webhook does not answer, Argo CD cannot compare at all.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, Set, rule
from whysync.diagnosis.drift.mechanism import PRESERVE_UNKNOWN
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="crd-conversion", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def stored_as_another_version(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.CONVERTED):
        if drift.pointer == PRESERVE_UNKNOWN:
            verdict = (
                f"Git sets preserveUnknownFields of {drift.ref}, which the API server does not store in v1"
            )
            fixes = (
                Fix.remove(
                    drift.ref, PRESERVE_UNKNOWN, title="Delete preserveUnknownFields from the CRD in Git"
                ),
                ignore_field(
                    case, drift.ref, PRESERVE_UNKNOWN, risk="none: the field has only one value in v1"
                ),
            )
        else:
            verdict = (
                f"Git declares {drift.ref} as {drift.desired_value},"
                f" but the cluster serves it as {drift.live_value}"
            )
            fixes = (
                Fix.change(
                    drift.ref,
                    Set(pointer=drift.pointer, value=str(drift.live_value)),
                    title=f"Declare {drift.live_value} in Git",
                    risk="fields may be renamed or moved in the other version",
                ),
            )
        yield drift_finding(
            drift,
            confidence=Confidence.HIGH if drift.pointer == PRESERVE_UNKNOWN else Confidence.MEDIUM,
            verdict=verdict,
            fixes=fixes,
        )

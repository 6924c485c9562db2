"""The cluster stores the object in another version of its schema than Git declares.

## What happens
A CustomResourceDefinition that came as `v1beta1` may hold `preserveUnknownFields: false`; in `v1` that is the
only value and is not kept, so Git and the cluster differ for ever. A custom resource is stored in one
version of its CRD: what Git declares in another one comes back converted, with fields renamed, added or
left out.

## How whysync knows
`preserveUnknownFields` of a CRD, or the `apiVersion` of a custom resource, is what differs.

## Fix
Delete `preserveUnknownFields` from the CRD in Git. Declare the custom resource in the version that the
cluster stores and shows. Where the chart cannot be changed, ignore exactly this field.

## When it is something else
A conversion webhook that does not answer stops the comparison altogether.
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
            verdict = f"{drift.ref}: Git sets preserveUnknownFields, which version v1 does not keep"
            fixes = (
                Fix.remove(drift.ref, PRESERVE_UNKNOWN, title="Delete it from the CRD in Git"),
                ignore_field(case, drift.ref, PRESERVE_UNKNOWN, risk="none: in v1 the field has one value"),
            )
        else:
            verdict = (
                f"{drift.ref} is declared in {drift.desired_value},"
                f" and the cluster shows it in {drift.live_value}"
            )
            fixes = (
                Fix.change(
                    drift.ref,
                    Set(pointer=drift.pointer, value=str(drift.live_value)),
                    title=f"Declare {drift.live_value} in Git",
                    risk="fields may have been renamed or moved between the versions",
                ),
            )
        yield drift_finding(
            drift,
            confidence=Confidence.HIGH if drift.pointer == PRESERVE_UNKNOWN else Confidence.MEDIUM,
            verdict=verdict,
            fixes=fixes,
        )

"""The cluster serves the object in another API version than Git declares.

## What happens
A custom resource is stored in one version of its CRD: what Git declares in another version is returned
converted, with fields renamed, added or removed.

## How whysync knows
The `apiVersion` of a custom resource differs.

## Fix
Declare the custom resource in the version that the cluster serves.

## When it is something else
If a conversion webhook does not answer, Argo CD cannot compare at all.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, Set, rule
from whysync.queries.drift import drift_finding


@rule(cause="crd-conversion", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def stored_as_another_version(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.CONVERTED):
        yield drift_finding(
            drift,
            confidence=Confidence.MEDIUM,
            verdict=f"Git declares {drift.ref} as {drift.desired_value},"
            f" but the cluster serves it as {drift.live_value}",
            fixes=(
                Fix.change(
                    drift.ref,
                    Set(pointer=drift.pointer, value=str(drift.live_value)),
                    title=f"Declare {drift.live_value} in Git",
                    risk="fields may be renamed or moved in the other version",
                ),
            ),
        )

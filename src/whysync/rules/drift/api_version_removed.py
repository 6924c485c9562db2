"""Git declares an API version that Kubernetes has removed; the cluster shows the object in another one.

## What happens
Kubernetes stores an object once and serves it in every version that it knows. When a version is removed
(PodDisruptionBudget of `policy/v1beta1` in 1.25, for example), what is in the cluster lives on in the new
version, while Git still asks for the old one. Argo CD cannot compare like with like, and sooner or
later cannot apply it.

## How whysync knows
`apiVersion` itself differs for a built-in kind. For versions that Kubernetes removed, the release that did
it is named.

## Fix
Write the new version into the manifest and check its fields: versions differ in more than the name. For a
chart, take a release that knows the new version, or tell it the cluster's version.

## When it is something else
The sync already fails with "no matches for kind": the same cause, told on the apply side. For a
custom resource the versions of its CRD decide.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, Set, rule
from whysync.queries.removed_apis import removal_of

API_VERSION = "/apiVersion"


@rule(cause="deprecated-api", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def api_version_removed(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.OLD_API):
        wanted, served = str(drift.desired_value), str(drift.live_value)
        removed = removal_of(wanted, drift.ref.kind)
        told = f", which Kubernetes removed in {removed}" if removed else ""
        yield Finding(
            about=drift.ref,
            field=API_VERSION,
            explains=tuple(d.symptom for d in case.drifts if d.key == drift.key),
            confidence=Confidence.HIGH if removed else Confidence.MEDIUM,
            verdict=f"{drift.ref} in Git asks for {wanted}{told}; the cluster serves {served}",
            evidence=drift.cited(),
            fixes=(
                Fix.change(
                    drift.ref,
                    Set(pointer=API_VERSION, value=served),
                    title=f"Declare {served} in Git",
                    risk="fields may have been renamed or moved between the versions",
                ),
            ),
        )

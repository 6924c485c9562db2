"""Git declares an API version that Kubernetes has removed; the cluster serves another one.

## What happens
Kubernetes stores an object once and serves it in every API version that it supports. When a version is
removed (for example `policy/v1beta1` of PodDisruptionBudget in 1.25), existing objects are served in the
new version, but Git still declares the old one. Argo CD cannot compare the two properly, and the next sync
that has to write the object fails.

## How whysync knows
`apiVersion` differs, and the kind is built in. If Kubernetes removed the version, the finding names the
release. Without manifests, the row of a Missing object shows the version that Git declares.

## Fix
Change `apiVersion` in the manifest and check the fields, which may differ between the versions. For a chart,
use a release that supports the new version, or pass the cluster's version to it.

## When it is something else
If the sync already fails with "no matches for kind", the cause is the same. For a custom resource, the
versions in its CRD decide.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Mechanism, Set, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.queries.commands import kubectl, sync
from whysync.queries.removed_apis import removal_of, removal_of_row

API_VERSION = "/apiVersion"


@rule(cause="deprecated-api", since="0.1")
def api_version_removed(case: Case) -> Iterator[Finding]:
    yield from _missing_rows(case)
    for drift in case.drifts_by(Mechanism.OLD_API):
        declared, served = str(drift.desired_value), str(drift.live_value)
        removed = removal_of(declared, drift.ref.kind)
        release = f", which Kubernetes removed in {removed}" if removed else ""
        yield Finding(
            about=drift.ref,
            field=API_VERSION,
            explains=tuple(d.symptom for d in case.drifts if d.key == drift.key),
            confidence=Confidence.HIGH if removed else Confidence.MEDIUM,
            verdict=f"Git declares {drift.ref} as {declared}{release}; the cluster serves {served}",
            evidence=drift.cited(),
            fixes=(
                Fix.change(
                    drift.ref,
                    Set(pointer=API_VERSION, value=served),
                    title=f"Declare {served} in Git",
                    risk="fields may be renamed or moved in the new version",
                ),
            ),
        )


def _missing_rows(case: Case) -> Iterator[Finding]:
    """Without manifests: a row has the version that Git declares, and the object is Missing or differs."""
    for row in case.app.status.resources:
        removed = removal_of_row(row)
        if removed is None:
            continue
        symptom = next(
            (id for id in (SymptomId.missing(row.key), SymptomId.differs(row.key)) if id in case.symptom_ids),
            None,
        )
        known = case.live_of(row.key) is not None or case.desired_of(row.key) is not None
        if known or symptom is None:
            continue
        is_missing = symptom == SymptomId.missing(row.key)
        declared = f"{row.group}/{row.version}"
        yield Finding(
            about=row.ref,
            field=API_VERSION,
            explains=(symptom,),
            confidence=Confidence.MEDIUM,
            verdict=f"Git declares {row.ref} as {declared}, which Kubernetes removed in {removed}; "
            + (
                "Argo CD finds no such object"
                if is_missing
                else "the live object has another API version, so it stays OutOfSync"
            ),
            evidence=(
                case.cited_row(
                    row,
                    says=f"the API version that Git declares, and {'Missing' if is_missing else 'OutOfSync'}",
                ),
            ),
            fixes=(
                Fix.run(
                    kubectl("api-resources", f"--api-group={row.group}"),
                    sync(case),
                    title="Declare a version that the cluster serves in Git, then sync",
                ),
            ),
        )

"""A custom resource's schema fills in a field that Git leaves out.

## What happens
A CustomResourceDefinition can give its fields default values. The API server writes them into the object as
it stores it. Argo CD's own diff does not know these defaults, and compares lists of custom resources
as wholes: one filled-in field inside a list makes the whole list differ, for ever.

## How whysync knows
Only the cluster has the field, it is a plain value of a custom resource, and nobody claims to have set it;
with the CRD at hand, its schema names that very default.

## Fix
Declare the value in Git: then both sides say the same. Or let the API server compare, as it knows the
schema: `argocd.argoproj.io/compare-options: ServerSideDiff=true` on the Application.

## When it is something else
A built-in kind gets its defaults from the API server itself. An operator that writes the field shows as its
manager in managedFields.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Mechanism, cite, rule
from whysync.diagnosis.drift.schemas import default_in_schema
from whysync.queries.drift import both_sides, declare_live, drift_finding, field_names, server_side_diff


@rule(cause="crd-default", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def crd_schema_default(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.CRD_DEFAULT):
        first = drifts[0]
        names = field_names(drifts)
        proven = [result for drift in drifts if (result := default_in_schema(case, drift)) is not None]
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if len(proven) == len(drifts) else Confidence.MEDIUM,
            verdict=f"the schema of {first.ref.kind} fills in {names} of {first.ref}, which Git leaves out",
            evidence=(
                *both_sides(drifts),
                *(cite(crd, pointer, says="the schema's default") for crd, pointer in proven),
            ),
            fixes=(
                declare_live(drifts, title="Declare in Git what the schema fills in"),
                server_side_diff(case),
            ),
        )

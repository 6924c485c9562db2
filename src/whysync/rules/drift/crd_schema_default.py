"""The CRD's schema sets a default for a field that Git leaves out.

## What happens
A CustomResourceDefinition can define default values, which the API server writes into the object when it
stores it. Argo CD's own diff does not apply these defaults, and it compares lists in custom resources as a
whole: one default inside a list makes the whole list differ after every sync.

## How whysync knows
Only the live custom resource has the field, it is a plain value, and managedFields name no other writer. If
the CRD is available, its schema has this default.

## Fix
Declare the value in Git. Or use server-side diff, which applies the schema:
`argocd.argoproj.io/compare-options: ServerSideDiff=true` on the Application.

## When it is something else
The defaults of a built-in kind come from the API server itself. If an operator writes the field,
managedFields name it.
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
        in_schema = len(proven) == len(drifts)
        who = f"the CRD of {first.ref.kind}" + ("" if in_schema else ", or its webhook,")
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if in_schema else Confidence.MEDIUM,
            verdict=f"{who} sets a default for {names} of {first.ref}, which Git leaves out",
            evidence=(
                *both_sides(drifts),
                *(cite(crd, pointer, says="default in the CRD's schema") for crd, pointer in proven),
            ),
            fixes=(
                declare_live(drifts, title="Declare the default in Git"),
                server_side_diff(case),
            ),
        )

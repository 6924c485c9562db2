"""The API server fills in a field that Git leaves out.

## What happens
The API server fills in defaults when it stores an object: the `clusterIP` of a Service, the `apiVersion`
and `kind` of a volume claim template, the `protocol` of a port. Argo CD's diff applies most of these
defaults, but not inside lists without keys, not with structured-merge diff, and not if Git sets the field
to an empty value.

## How whysync knows
Only the cluster has the field (or Git sets it to an empty or zero value that counts as unset), the API server
fills in this value for the built-in kind, and managedFields name no other writer.

## Fix
Declare the live value in Git. Or use server-side diff: `argocd.argoproj.io/compare-options:
ServerSideDiff=true` on the Application.

## When it is something else
The defaults of a custom resource come from the CRD's schema. A mutating webhook adds sidecars and labels that
are no defaults.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Mechanism, rule
from whysync.queries.drift import declare_live, drift_finding, field_names, server_side_diff


@rule(cause="api-default", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def api_server_default(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.API_DEFAULT):
        first = drifts[0]
        names = field_names(drifts)
        yield drift_finding(
            *drifts,
            confidence=Confidence.MEDIUM,
            verdict=f"the API server fills in {names} of {first.ref}, which Git leaves"
            f" {'out' if all(drift.only_live for drift in drifts) else 'empty'}",
            fixes=(
                declare_live(drifts, title="Declare the default in Git"),
                server_side_diff(case),
            ),
        )

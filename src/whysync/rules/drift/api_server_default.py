"""The API server fills in a field that Git leaves out.

## What happens
Kubernetes completes objects as it stores them: a Service gets its `clusterIP`, a claim template its
`apiVersion` and `kind`, a port its `protocol`. Argo CD knows most of these defaults, but not inside lists
without keys, not with structured-merge diff, and not where Git sets the field to an empty value.

## How whysync knows
Only the cluster has the field (or Git sets it to an empty or zero value that counts as unset), the API server
fills in this very value for the built-in kind, and no manager claims to have written it by intent.

## Fix
Write the value that the cluster has into Git: then both sides say the same. Or let the API server
compare: `argocd.argoproj.io/compare-options: ServerSideDiff=true` on the Application.

## When it is something else
A custom resource gets its defaults from the CRD's schema. A sidecar or a label that no default explains
comes from a mutating webhook.
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
                declare_live(drifts, title="Declare in Git what the cluster fills in"),
                server_side_diff(case),
            ),
        )

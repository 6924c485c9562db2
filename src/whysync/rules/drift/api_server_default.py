"""The API server fills in a field that Git leaves out.

## What happens
Kubernetes completes objects as it stores them: a Service gets its `clusterIP`, a claim template its
`apiVersion` and `kind`, a port its `protocol`. Argo CD knows most of these defaults, but not inside lists
without keys, not with structured-merge diff, and not where Git sets the field to an empty value.

## How whysync knows
Only the cluster has the field (or Git has it empty), it is one that the API server fills in for this
built-in kind, and no manager claims to have written it by intent.

## Fix
Write the value that the cluster has into Git: then both sides say the same. Or let the API server
compare: `argocd.argoproj.io/compare-options: ServerSideDiff=true` on the Application.

## When it is something else
A custom resource gets its defaults from the CRD's schema. A sidecar or a label that no default explains
comes from a mutating webhook.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, Set, rule
from whysync.json_tree import Missing

COMPARE_OPTIONS = "/metadata/annotations/argocd.argoproj.io~1compare-options"


@rule(cause="api-default", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def api_server_default(case: Case) -> Iterator[Finding]:
    by_object: dict[str, list[Drift]] = {}
    for drift in case.drifts_by(Mechanism.API_DEFAULT):
        by_object.setdefault(str(drift.ref.key), []).append(drift)
    for drifts in by_object.values():
        first = drifts[0]
        names = ", ".join(dict.fromkeys(drift.last_key for drift in drifts))
        yield Finding(
            about=first.ref,
            field=first.pointer,
            explains=tuple(drift.symptom for drift in drifts),
            confidence=Confidence.MEDIUM,
            verdict=f"the API server fills in {names} of {first.ref}, which Git leaves out",
            evidence=tuple(evidence for drift in drifts for evidence in drift.cited()),
            fixes=(
                Fix.change(
                    first.ref,
                    *(
                        Set(pointer=drift.pointer, value=drift.found)
                        for drift in drifts
                        if not isinstance(drift.found, Missing)
                    ),
                    title="Declare in Git what the cluster fills in",
                ),
                Fix.application(
                    case.application.ref,
                    Set(pointer=COMPARE_OPTIONS, value="ServerSideDiff=true"),
                    title="Let the API server compare: server-side diff",
                    risk="more work for the API server; what admission refuses becomes a ComparisonError",
                ),
            ),
        )

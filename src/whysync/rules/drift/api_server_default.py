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
Declare the live value in Git. An address or a port that is allocated to one Service, such as `clusterIP`,
does not belong there: remove the empty field, or render it only if it is set. Or use server-side diff:
`argocd.argoproj.io/compare-options: ServerSideDiff=true` on the Application.

## When it is something else
The defaults of a custom resource come from the CRD's schema. A mutating webhook adds sidecars and labels that
are no defaults.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Mechanism, rule
from whysync.diagnosis.drift.field_heuristics import is_allocated
from whysync.diagnosis.fix import Fix, Remove
from whysync.diagnosis.sentences import listed
from whysync.json_tree import Missing
from whysync.queries.drift import declare_live, drift_finding, field_names, server_side_diff


@rule(cause="api-default", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def api_server_default(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.API_DEFAULT):
        first = drifts[0]
        names = field_names(drifts)
        yield drift_finding(
            *drifts,
            confidence=Confidence.MEDIUM,
            verdict=f"the API server fills in {names} of {first.ref}{_in_git(drifts)}",
            fixes=(*_changes_in_git(drifts), server_side_diff(case)),
        )


def _changes_in_git(drifts: tuple[Drift, ...]) -> Iterator[Fix]:
    """An address or a port that is allocated to one object does not belong in Git."""
    empty = [drift for drift in drifts if is_allocated(drift) and not drift.only_live]
    if empty:
        yield Fix.change(
            empty[0].ref,
            *(Remove(pointer=drift.pointer) for drift in empty),
            title=f"Remove the empty {listed(dict.fromkeys(drift.last_key for drift in empty))} from Git: the"
            " API server allocates the value",
        )
    defaults = [drift for drift in drifts if not is_allocated(drift)]
    if defaults:
        yield declare_live(defaults, title="Declare the default in Git")


def _in_git(drifts: tuple[Drift, ...]) -> str:
    """`, which Git leaves out`, or `: Git sets it to 0, which counts as not set`."""
    values = (drift.desired_value for drift in drifts if not drift.only_live)
    texts = dict.fromkeys(json.dumps(value) for value in values if not isinstance(value, Missing))
    if not texts:
        return ", which Git leaves out"
    return f": Git sets it to {' or '.join(texts)}, which counts as not set"

"""Server-side apply is rejected because another manager owns the fields.

## What happens
With server-side apply each field has an owner. Applying another value without force causes a conflict that
names the owner. Argo CD's own sync always forces, so the conflict usually comes from another tool or user who
applies the same objects: `kubectl apply --server-side`, Helm, an operator.

## How whysync knows
`Apply failed with … conflict(s): conflict with "<manager>"`, with the fields.

## Fix
Decide who owns these fields, and remove them from the other manifests.

## When it is something else
`the object has been modified` is about two writes at the same time: conflict-modified.
"""

from collections.abc import Iterator

from whysync.argocd.sync.request import ARGOCD_MANAGER
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import listed
from whysync.messages.patterns.apply import SsaConflict
from whysync.queries.commands import kubectl, on_object
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import placed


@rule(cause="ssa-conflict", since="0.1")
def server_side_apply_conflict(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SsaConflict, by=lambda failure: (failure.managers, failure.fields)):
        failure = group.failure
        ref = group.ref or case.application.ref
        owners = " and ".join(failure.managers) or "another manager"
        fields = listed(failure.fields, 4) or "some fields"
        show_command = on_object("get", placed(case, ref), "--show-managed-fields", "-o", "yaml")
        yield Finding(
            about=ref,
            field=None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{owners} owns {fields}, so server-side apply without force is rejected",
            evidence=group.cited(says="who owns which fields"),
            fixes=(
                Fix.run(
                    show_command + "   # the owner of each field",
                    "# remove these fields from the manifests of whoever should not own them",
                    title=f"Let one manager own these fields: {owners}, or the one that applies now",
                ),
                Fix.run(
                    kubectl(
                        "apply",
                        "--server-side",
                        "--force-conflicts",
                        f"--field-manager={ARGOCD_MANAGER}",
                        "-f",
                        "MANIFEST",
                        namespace=ref.namespace,
                    ),
                    title="Or let Argo CD's manager take ownership of the fields once",
                    risk=f"{owners} may write its values again",
                    destroys=(f"the values that {owners} set in {fields}",),
                ),
            ),
        )

"""Server-side apply is rejected because another manager owns the fields.

## What happens
With server-side apply each field has an owner. Applying another value without force causes a conflict that
names the owner. Argo CD's own sync always forces, so the conflict usually comes from another tool or user who
applies the same objects: `kubectl apply --server-side`, Helm, an operator.

## How whysync knows
`Apply failed with … conflict(s): conflict with "<manager>"`, with the fields.

## Fix
Decide who owns these fields, and remove them from the other manifests. Fields that belong to an earlier
`kubectl apply` are taken over once.

## When it is something else
`the object has been modified` is about two writes at the same time: conflict-modified.
"""

from collections.abc import Iterator

from whysync.argocd.sync.request import ARGOCD_MANAGER
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import listed
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import SsaConflict
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import find_object, is_unnamed, object_text, placed

LEFT_OVER = "kubectl-client-side-apply"


@rule(cause="ssa-conflict", since="0.1")
def server_side_apply_conflict(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SsaConflict, by=lambda failure: (failure.managers, failure.fields)):
        failure = group.failure
        ref = group.ref or case.application.ref
        owners = " and ".join(failure.managers) or "another manager"
        fields = listed(failure.fields, 4) or "some fields"
        is_left_over = set(failure.managers) == {LEFT_OVER}
        of = f" of {object_text(case, ref)}"
        take_over = _take_over(case, _namespace(case, ref), owners, fields, is_left_over=is_left_over)
        show_commands = (
            *find_object(case, ref),
            with_comment(
                kubectl(
                    "get",
                    "KIND",
                    "NAME",
                    "--show-managed-fields",
                    "-o",
                    "yaml",
                    namespace=case.destination_namespace,
                )
                if is_unnamed(case, ref)
                else on_object("get", placed(case, ref), "--show-managed-fields", "-o", "yaml"),
                "the owner of each field",
            ),
        )
        yield Finding(
            about=ref,
            field=None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{owners} owns {fields}{of}, so server-side apply without force is rejected",
            evidence=group.cited(says="who owns which fields"),
            fixes=(
                Fix.run(
                    *show_commands,
                    "# a recent time: stop the script that runs kubectl apply; else take the fields over"
                    if is_left_over
                    else "# remove these fields from the manifests of whoever should not own them",
                    title="See whether a script still runs kubectl apply, and stop it; Git keeps its values"
                    if is_left_over
                    else f"Let one manager own these fields: {owners}, or the one that applies now",
                ),
                take_over,
            ),
        )


def _namespace(case: Case, ref: Ref) -> str:
    return case.destination_namespace if is_unnamed(case, ref) else placed(case, ref).namespace


def _take_over(case: Case, namespace: str, owners: str, fields: str, *, is_left_over: bool) -> Fix:
    """Git keeps its value, and one apply with force takes the fields over."""
    return Fix.run(
        kubectl(
            "apply",
            "--server-side",
            "--force-conflicts",
            f"--field-manager={ARGOCD_MANAGER}",
            "-f",
            "MANIFEST",
            namespace=namespace,
        ),
        sync(case),
        title="Then take the fields over once: they belong to an earlier kubectl apply"
        if is_left_over
        else "Or let Argo CD's manager take ownership of the fields once",
        risk="the live values become those of Git; a script that runs kubectl apply writes its own again"
        if is_left_over
        else f"{owners} may write its values again",
        destroys=(f"the values that {owners} set in {fields}",),
    )

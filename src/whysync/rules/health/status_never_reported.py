"""Argo CD's health check waits for a status that nothing writes.

## What happens
Checks read an object's `status`. A custom resource whose controller does not run, does not look at its
namespace, or is told not to write a status (Sealed Secrets with status updates off) reads as Progressing
for ever. The app never gets Healthy, though nothing of it is broken.

## How whysync knows
The row is Progressing long after the sync, and the live object has no status at all. What was made from it,
such as the Secret of a SealedSecret, shows that its controller works nevertheless.

## Fix
Let the controller run and write the status. Where none will come: a health check of your own in `argocd-cm`,
or `argocd.argoproj.io/ignore-healthcheck: "true"` on the object.

## When it is something else
Minutes after a sync this is normal. A claim or a load balancer that waits has a rule of its own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.resource_rows import row_evidence

IGNORE = "/metadata/annotations/argocd.argoproj.io~1ignore-healthcheck"


@rule(cause="health-quirk", since="0.1")
def status_never_reported(case: Case) -> Iterator[Finding]:
    if case.synced_recently:
        return
    for row in case.app.status.resources:
        symptom = SymptomId.unhealthy(row.key)
        if symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        live = case.live_of(row.key)
        if live is None or live.meta.get("deletionTimestamp"):
            continue  # what is being deleted reads as Progressing until it is gone
        if is_builtin(row.ref) or live.body.get("status"):
            continue
        owned = case.owned_by(row.ref)
        declared = case.desired_of(row.key)
        if declared is not None and declared.at(IGNORE) == "true":
            continue  # it does not count
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.HIGH if owned else Confidence.MEDIUM,
            verdict=f"{row.ref} reads as Progressing: nothing has written a status into it;"
            f" {_why(row.ref, owned)}",
            root=f"the controller of {row.ref.kind} writes no status" if owned else None,
            evidence=(
                row_evidence(case, row, says="Argo CD waits for it"),
                cite(live, "/status", says="empty"),
                *(cite(manifest, "/metadata/ownerReferences", says="made from it") for manifest in owned[:2]),
            ),
            fixes=(
                *(
                    (
                        Fix.change(
                            row.ref,
                            Set(pointer=IGNORE, value="true"),
                            title="Leave it out of the app's health"
                            + ("" if owned else ", if no status will ever come"),
                            risk="its real trouble will not count any more",
                        ),
                    )
                    if declared is not None
                    else ()
                ),
                Fix.run(
                    "kubectl get pods -A     # does the controller of this kind run?",
                    title="Let the controller of this kind "
                    + ("write the status" if owned else "run and write the status"),
                ),
            ),
        )


def _why(ref: Ref, owned: tuple[Manifest, ...]) -> str:
    """What was made from it shows that its controller works."""
    if owned:
        return f"its controller works all the same: it has made {owned[0].ref}"
    return f"the controller of {ref.kind} does not run, does not see it, or does not write one"

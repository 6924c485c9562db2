"""A workload keeps its old Pods until somebody deletes them, and is Progressing until then.

## What happens
With the update strategy `OnDelete` Kubernetes replaces a Pod only when it is deleted; with a `partition`
above zero, Pods below that number are replaced only when it is lowered. All Pods are ready, but only some
run the new version, and a health check that waits for the rollout (older versions of Argo CD, custom
checks) waits forever.

## How whysync knows
The row is Progressing, all Pods of the live object are ready, fewer than desired have the new revision, and
its update strategy does not replace the others.

## Fix
Delete the Pods one by one at a suitable time, or lower the partition. Or let Kubernetes do it:
`RollingUpdate`.

## When it is something else
Pods that are not ready have a problem of their own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import dig, integer
from whysync.queries.commands import kubectl

STRATEGY = "/spec/updateStrategy"
# Status fields with the desired, the ready and the updated number of Pods, by kind.
_COUNTS = {
    "StatefulSet": ("replicas", "readyReplicas", "updatedReplicas"),
    "DaemonSet": ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled"),
}


@rule(cause="health-quirk", since="0.1")
def on_delete_update_strategy(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = SymptomId.unhealthy(row.key)
        live = case.live_of(row.key) if row.group == "apps" and row.kind in _COUNTS else None
        if live is None or symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        desired, ready, updated = (integer(live.status.get(name)) for name in _COUNTS[row.kind])
        partition = integer(dig(live.body, "spec", "updateStrategy", "rollingUpdate", "partition"))
        on_delete = dig(live.body, "spec", "updateStrategy", "type") == "OnDelete"
        if not (on_delete or partition) or (live.status and not ready >= desired > updated):
            continue
        reason = (
            "OnDelete replaces a Pod only when it is deleted"
            if on_delete
            else f"the partition keeps Pods below number {partition} at the old revision"
        )
        yield Finding(
            about=row.ref,
            field=STRATEGY,
            explains=(symptom,),
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} is Progressing: {reason}"
            + (
                f"; all Pods are ready, but only {updated} of {desired} have the new revision"
                if desired
                else ""
            ),
            evidence=(
                case.cited_health(row, "Progressing"),
                cite(live, STRATEGY, says="its update strategy"),
                *(
                    (cite(live, f"/status/{_COUNTS[row.kind][2]}", says="Pods of the new revision"),)
                    if desired
                    else ()
                ),
            ),
            fixes=(_fix(row.namespace or "default", on_delete=on_delete),),
        )


def _fix(namespace: str, *, on_delete: bool) -> Fix:
    """Deleting a Pod helps only with OnDelete; under a partition it is recreated at the old revision."""
    look = kubectl("get", "pods", "-L", "controller-revision-hash", namespace=namespace)
    if on_delete:
        return Fix.run(
            look,
            kubectl("delete", "pod", "OLD_POD", namespace=namespace),
            title="Delete the old Pods one by one, at a suitable time",
            risk="each Pod is unavailable until its replacement is ready",
        )
    return Fix.run(look, title="List the old Pods, and lower the partition in Git at a suitable time")

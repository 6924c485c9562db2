"""A workload keeps its old Pods until somebody deletes them, and reads as Progressing meanwhile.

## What happens
With the update strategy `OnDelete` Kubernetes replaces a Pod only when it is deleted; with a `partition`
above zero, those below that number only when it is lowered. All Pods are ready, the new version runs in none
or a few of them, and a health check that waits for the roll-out (older versions of Argo CD, checks of your
own) waits for ever.

## How whysync knows
The row is Progressing, all Pods of the live object are ready, fewer are of the new revision than wanted, and
its strategy leaves the rest to a person.

## Fix
Delete the Pods one by one when it suits, or lower the partition. Or let Kubernetes do it: `RollingUpdate`.

## When it is something else
Pods that are not ready have a trouble of their own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import dig, integer
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import kubectl
from whysync.queries.resource_rows import row_evidence

STRATEGY = "/spec/updateStrategy"
# The wanted number, the ready ones and those of the new revision, by kind.
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
        reason = _held_back(live)
        if not reason or not desired or ready < desired or updated >= desired:
            continue
        yield Finding(
            about=row.ref,
            field=STRATEGY,
            explains=(symptom,),
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} reads as Progressing: {reason}; all Pods are ready,"
            f" {updated} of {desired} new",
            evidence=(
                row_evidence(case, row, says="Argo CD waits for it"),
                cite(live, STRATEGY, says="why no more Pods are replaced"),
                cite(live, f"/status/{_COUNTS[row.kind][2]}", says="so many are of the new revision"),
            ),
            fixes=(_fix(row.namespace or "default", by_deleting="OnDelete" in reason),),
        )


def _fix(namespace: str, *, by_deleting: bool) -> Fix:
    """Under a partition, a deleted Pod comes back as it was."""
    look = kubectl("get", "pods", "-L", "controller-revision-hash", namespace=namespace)
    if by_deleting:
        return Fix.run(
            look,
            kubectl("delete", "pod", "OLD_POD", namespace=namespace),
            title="Delete the old Pods one by one, when it suits",
            risk="each is away until its successor is ready",
        )
    return Fix.run(look, title="See which Pods are old, and lower the partition in Git when it suits")


def _held_back(live: Manifest) -> str:
    """In words, why Kubernetes replaces no more Pods by itself; empty where it does."""
    if dig(live.body, "spec", "updateStrategy", "type") == "OnDelete":
        return "OnDelete leaves it to a person to delete old Pods"
    partition = integer(dig(live.body, "spec", "updateStrategy", "rollingUpdate", "partition"))
    return f"the partition keeps the Pods below number {partition} as they were" if partition else ""

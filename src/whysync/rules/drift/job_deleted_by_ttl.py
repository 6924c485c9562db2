"""A finished Job was deleted by its TTL, but Git still declares it.

## What happens
With `ttlSecondsAfterFinished` (or a Workflow's `ttlStrategy`) the cluster deletes the object after it has
finished. Git still declares it, so Argo CD reports it as Missing and OutOfSync. With auto-sync and self-heal
it is created, runs and is deleted again, in a loop.

## How whysync knows
The declared object has a TTL, and it is not in the cluster.

## Fix
Make it a hook with a delete policy: Argo CD then runs it once per sync and deletes it, and a hook does not
count for the sync status. Or remove the TTL and keep the finished Job.

## When it is something else
An object without a TTL was deleted by someone, or never created.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Set, SymptomKind, cite, rule
from whysync.queries.drift import ttl_pointer

HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"
POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"


@rule(cause="ttl-deleted", needs={Fact.DESIRED}, since="0.1")
def job_deleted_by_ttl(case: Case) -> Iterator[Finding]:
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.MISSING or symptom.ref is None:
            continue
        desired = case.desired_of(symptom.ref.key)
        ttl = ttl_pointer(desired) if desired is not None else None
        if (
            desired is None
            or ttl is None
            or HOOK.rpartition("/")[2].replace("~1", "/") in desired.annotations
        ):
            continue
        loop = "; self-heal creates it again each time" if case.self_heals else ""
        yield Finding(
            about=symptom.ref,
            field=ttl,
            explains=(symptom.id,),
            confidence=Confidence.HIGH,
            verdict=f"{symptom.ref} finished and was deleted by its TTL, but Git declares it{loop}",
            evidence=(cite(desired, ttl, says="deletes the object after it has finished"),),
            fixes=(
                Fix.change(
                    symptom.ref,
                    Set(pointer=HOOK, value="PostSync"),
                    Set(pointer=POLICY, value="BeforeHookCreation,HookSucceeded"),
                    title="Make it a hook: Argo CD runs it once per sync and deletes it",
                    risk="it runs at every sync, after all resources are healthy; if they need what it"
                    " creates, use PreSync",
                ),
                Fix.remove(symptom.ref, ttl, title="Keep the finished object: remove its TTL"),
            ),
        )

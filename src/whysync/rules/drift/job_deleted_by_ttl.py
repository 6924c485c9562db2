"""A finished Job was deleted by its own time to live, and Git still declares it.

## What happens
`ttlSecondsAfterFinished` (or a Workflow's `ttlStrategy`) makes the cluster delete the object once it is
done. Git still declares it, so Argo CD calls it Missing and OutOfSync, for ever. With auto-sync and
self-heal it is created, runs, and is deleted again, in a loop.

## How whysync knows
The declared object has a time to live, and it is gone from the cluster.

## Fix
Make it a hook with a delete policy: then Argo CD runs it once per sync and cleans up itself, and a hook
does not count for the sync status. Or drop the time to live, and let the finished Job lie.

## When it is something else
An object without a time to live was deleted by somebody, or never created.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Set, SymptomKind, cite, rule
from whysync.queries.ttl import ttl_pointer

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
        loop = "; self-heal makes it again and again" if case.self_heals else ""
        yield Finding(
            about=symptom.ref,
            field=ttl,
            explains=(symptom.id,),
            confidence=Confidence.HIGH,
            verdict=f"{symptom.ref} finished and was deleted by its time to live{loop}",
            evidence=(cite(desired, ttl, says="the cluster deletes it this long after it finished"),),
            fixes=(
                Fix.change(
                    symptom.ref,
                    Set(pointer=HOOK, value="PostSync"),
                    Set(pointer=POLICY, value="BeforeHookCreation,HookSucceeded"),
                    title="Make it a hook: it runs once per sync, and Argo CD cleans up",
                    risk="it runs at every sync, after all else is healthy (PreSync: before)",
                ),
                Fix.remove(symptom.ref, ttl, title="Let the finished Job lie: drop its time to live"),
            ),
        )

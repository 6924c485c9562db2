"""An object of the same name from an earlier run is in the way.

## What happens
Argo CD (or a hook's delete policy) wants to create an object, and one of that name is still there:
an old run of a hook that nothing deletes, or one whose deletion has not ended.

## How whysync knows
`already exists`, or `object is being deleted: … already exists`.

## Fix
Delete the old one, then sync. For hooks, the delete policy `BeforeHookCreation` does that by
itself, or `generateName` gives every run a name of its own.

## When it is something else
The old object hangs in deletion: finalizer-stuck.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, rule
from whysync.diagnosis.commands import on_object, sync
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.placement import is_deleted_before_next_run, is_hook
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import AlreadyExists

POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"


@rule(cause="hook-leftover", since="0.1")
def old_hook_in_the_way(case: Case) -> Iterator[Finding]:
    for group in grouped(case, AlreadyExists, by=lambda failure: failure.resource):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        keeps = desired is not None and is_hook(desired) and not is_deleted_before_next_run(desired)
        ending = " and is still being deleted" if failure.being_deleted else ""
        yield Finding(
            about=ref,
            field=POLICY if keeps else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if keeps or failure.being_deleted else Confidence.MEDIUM,
            verdict=f"{ref} is there already{ending}, so it cannot be created",
            evidence=group.cited(says="one of that name exists"),
            fixes=(
                *(
                    (
                        Fix.change(
                            ref,
                            Set(pointer=POLICY, value="BeforeHookCreation"),
                            title="Let Argo CD delete the old run before each new one",
                        ),
                    )
                    if keeps
                    else ()
                ),
                Fix.run(
                    on_object("get", ref, "-o", "yaml") + "   # its owner, its age, its finalizers",
                    title="See whose it is: an old run, or another tool's",
                ),
                Fix.run(
                    on_object("delete", ref),
                    sync(case),
                    title="Delete the old one, then sync",
                    destroys=(f"the existing {ref}",),
                ),
            ),
        )

"""An object of the same name from an earlier run already exists.

## What happens
Argo CD creates an object, but one of that name still exists: an old run of a hook that nothing deletes, or
one whose deletion has not finished. A Job that still exists is updated instead of created, and the template
of a Job is immutable.

## How whysync knows
`already exists`, or `object is being deleted: … already exists`; or `field is immutable` for a hook whose
hook-delete-policy keeps the old run.

## Fix
Delete the old object, then sync. For hooks, the delete policy `BeforeHookCreation` does that for every run,
and `generateName` gives every run its own name.

## When it is something else
The old object does not finish terminating: finalizer-stuck.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.sentences import listed
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import AlreadyExists, ImmutableField
from whysync.queries.commands import app_argument, on_object, sync, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import named_ref, placed
from whysync.queries.sync_position import (
    delete_before_next_run,
    is_deleted_before_next_run,
    is_hook,
    keeps_old_run,
)

_REPLACE = "Replace=true"
_OPTIONS = "/spec/syncPolicy/syncOptions"
POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"


@rule(cause="hook-leftover", since="0.1")
def hook_already_exists(case: Case) -> Iterator[Finding]:
    replaces = case.has_sync_option(_REPLACE)
    for group in grouped(case, AlreadyExists, by=lambda f: _REPLACE if replaces else f.resource):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        keeps = desired is not None and is_hook(desired) and not is_deleted_before_next_run(desired)
        deletion = " and is still terminating" if failure.being_deleted else ""
        if replaces and not keeps and not failure.being_deleted:
            yield _created_because_of_replace(case, ref, group)
            continue
        yield Finding(
            about=ref,
            cause="finalizer-stuck" if failure.being_deleted and not _may_be_hook(ref, desired) else "",
            field=POLICY if keeps else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if keeps or failure.being_deleted else Confidence.MEDIUM,
            verdict=f"{ref} already exists{deletion}, so it cannot be created",
            evidence=group.cited(says="an object of that name exists"),
            fixes=tuple(_fixes(case, ref, keeps=keeps)),
        )
    yield from _kept_and_changed(case)


def _created_because_of_replace(case: Case, ref: Ref, group: FailureGroup[AlreadyExists]) -> Finding:
    """With Replace=true, Argo CD creates an object that its cache does not have; an apply updates it.

    Mirrors `applyObject` of gitops-engine, Argo CD 3.6.
    """
    names = [named_ref(case, r.failure.resource, r.ref) for r in group.reports]
    objects = list(dict.fromkeys(names))
    several = len(objects) > 1
    return Finding(
        about=ref,
        explains=group.explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"{listed(objects)} already {'exist' if several else 'exists'}: with {_REPLACE} Argo CD"
        f" creates {'them' if several else 'it'} instead of applying {'them' if several else 'it'}",
        evidence=(
            *group.cited(says="an object of that name exists"),
            cite(case.application, _OPTIONS, says="sync options"),
        ),
        fixes=(
            Fix.run(
                with_comment(
                    f"argocd app set {app_argument(case)} --sync-option '!{_REPLACE}'",
                    "and where the Application is declared, if it is in Git",
                ),
                sync(case),
                title=f"Remove {_REPLACE} from the app's sync options: an apply updates what exists",
                risk="an apply merges: fields that Git leaves out and other tools set stay",
            ),
            Fix.run(
                *(on_object("get", placed(case, each), "-o", "yaml") for each in objects[:10]),
                *(on_object("delete", placed(case, each)) for each in objects[:10]),
                sync(case),
                title=f"Or delete the existing {'objects' if several else 'object'} once, then sync",
                destroys=tuple(f"the existing {each}" for each in objects),
            ),
        ),
    )


def _may_be_hook(ref: Ref, desired: Manifest | None) -> bool:
    """Without the manifest, only the kinds that hooks usually have."""
    return is_hook(desired) if desired is not None else ref.kind in ("Job", "Pod", "Workflow")


def _kept_and_changed(case: Case) -> Iterator[Finding]:
    """The new run of a hook is applied to the old Job, whose template is immutable."""
    for group in grouped(case, ImmutableField, by=lambda failure: failure.resource):
        ref = named_ref(case, group.failure.resource, group.ref)
        if not keeps_old_run(case.desired_of(ref.key)):
            continue
        yield Finding(
            about=ref,
            field=POLICY,
            explains=tuple(dict.fromkeys((*group.explains, *symptoms_about(case, ref)))),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the old run of hook {ref} still exists and cannot be replaced:"
            f" its hook-delete-policy keeps it",
            evidence=(*group.cited(says="Argo CD tried to update the old run"), *_policy(case, ref)),
            fixes=tuple(_fixes(case, ref, keeps=True)),
        )


def _policy(case: Case, ref: Ref) -> Iterator[Evidence]:
    desired, live = case.desired_of(ref.key), case.live_of(ref.key)
    if desired is not None:
        yield cite(desired, POLICY, says="its hook-delete-policy")
    if live is not None:
        yield cite(live, "/metadata/creationTimestamp", says="when the old run was created")


def _fixes(case: Case, ref: Ref, *, keeps: bool) -> Iterator[Fix]:
    desired = case.desired_of(ref.key)
    look = on_object("get", placed(case, ref), "-o", "yaml") + "   # its owner, age and finalizers"
    if keeps and desired is not None:
        yield Fix.change(
            ref,
            delete_before_next_run(desired),
            title="Delete the old run before each new one: add BeforeHookCreation to its hook-delete-policy",
            risk="the old run is deleted with its Pods and logs when the next sync starts",
        )
    else:
        yield Fix.run(look, title="Check whether it is an old run or belongs to another tool")
    if ref.key == case.application.ref.key:
        return  # the message does not name the object: there is nothing to delete yet
    yield Fix.run(
        look,
        on_object("delete", placed(case, ref)),
        sync(case),
        title="Delete the old object, then sync",
        destroys=(f"the existing {ref}",),
    )

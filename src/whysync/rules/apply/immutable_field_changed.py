"""Git changes an immutable field.

## What happens
Some fields are fixed when an object is created: a Deployment's `spec.selector`, a Job's `spec.template`, most
of a StatefulSet's `spec`, a Service's `clusterIP`, a binding's `roleRef`. The API server rejects the whole
object, and the sync fails. Another sync fails in the same way.

## How whysync knows
The API server's message in the operation (`field is immutable`, `updates to statefulset spec for fields other
than …`), or the same message inside a server-side diff error. If a sync failed and the facts have no message,
whysync validates Git's change as an API server does.

## Fix
Revert the change in Git, so that the field has its live value again. Or recreate the object on purpose
(`Replace=true,Force=true` as its sync option): that deletes it first, with everything that depends on it.
For a finished Job that is the first choice: delete it and sync, so that the new version runs, and make it a
hook if each release changes it.
Larger volumes of a StatefulSet need no such deletion: patch its claims if their class allows expansion,
delete the StatefulSet with `--cascade=orphan`, and sync. Its Pods and volumes stay.

## When it is something else
A webhook or policy that forbids the change reports its own name: that is admission-denied.
"""

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.fix import Edit
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import OPERATION
from whysync.json_tree import Missing, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child, split
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.stateful_sets import IMMUTABLE_FIELDS
from whysync.messages.patterns.apply import ImmutableField
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import app_argument, comment, kubectl, on_object, sync, with_comment
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.finalizers import users_of_storage
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_unnamed, named_ref, object_text, placed
from whysync.queries.rejected_changes import rejected_changes
from whysync.queries.schema_errors import dotted_path
from whysync.queries.sync_options import with_options
from whysync.queries.sync_position import keeps_old_run
from whysync.queries.volume_growth import growth_fix

SELECTOR = "/spec/selector"
_ORPHANS = "the Pods are adopted only if the selector did not change; otherwise delete the old ones yourself"
_CLAIMS = "/spec/volumeClaimTemplates"
_SERVICE_NAME = "/spec/serviceName"
LABELS = "/spec/template/metadata/labels"
HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"
HOOK_DELETE_POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"

# Argo CD updates these with Replace=true, also with Force=true: to delete one deletes all that is in it.
_NEVER_REPLACED = frozenset({"CustomResourceDefinition", "Namespace"})


@rule(cause="immutable-field", since="0.1")
def immutable_field_changed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ImmutableField, by=lambda f: (f.resource, f.pointer or f.field)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired, live = case.desired_of(ref.key), case.live_of(ref.key)
        if keeps_old_run(desired):
            continue  # an old run blocks the new one: hook_already_exists reports it
        immutable = _fixed_fields(case, ref, failure)
        yield Finding(
            about=ref,
            field=immutable[0] if immutable and not is_unnamed(case, ref) else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(case, ref, failure, immutable),
            evidence=(
                *group.cited(says="the API server rejects the change"),
                *_sides(immutable, desired, live),
            ),
            fixes=tuple(_fixes_of_unnamed(case))
            if is_unnamed(case, ref)
            else tuple(_fixes(case, ref, immutable, emptied=failure.is_emptied)),
            already_fixed=sync_again(
                case,
                "the change was reverted in Git",
                "Sync again: the change was reverted in Git",
                when=_is_reverted(immutable, desired, live),
            ),
        )
    yield from _by_deduction(case)


def _by_deduction(case: Case) -> Iterator[Finding]:
    """The sync failed without a reason in the facts, and this API server would reject what Git changes."""
    for ref, failure, drifts in rejected_changes(case):
        desired, live = case.desired_of(ref.key), case.live_of(ref.key)
        if keeps_old_run(desired):
            continue
        immutable = _fixed_fields(case, ref, failure)
        known = tuple(p for p in immutable if desired is not None and not isinstance(desired.at(p), Missing))
        changed = known or tuple(drift.pointer for drift in drifts)
        if not known:  # the API server names a part of the object that has another name in a manifest
            failure = msgspec.structs.replace(failure, field=".".join(split(changed[0])))
        yield Finding(
            about=ref,
            field=changed[0],
            explains=(OPERATION, *(drift.symptom for drift in drifts)),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM,
            verdict=_verdict(case, ref, failure, immutable),
            evidence=(
                cite(case.application, "/status/operationState/message", says="the sync failed"),
                *_sides(changed, desired, live),
            ),
            fixes=tuple(_fixes(case, ref, changed)),
        )


def _fixed_fields(case: Case, ref: Ref, failure: ImmutableField) -> tuple[str, ...]:
    """The field that the message names. If it only lists the mutable fields: the other fields that differ."""
    if not failure.allowed:
        return (failure.pointer,) if failure.pointer else ()
    return tuple(
        drift.pointer
        for drift in case.drifts
        if drift.ref.key == ref.key
        and drift.pointer.startswith("/spec/")
        and drift.pointer.split("/")[2] not in failure.allowed
        and not drift.only_live
    )


def _verdict(case: Case, ref: Ref, failure: ImmutableField, immutable: tuple[str, ...]) -> str:
    rejected = object_text(case, ref, failure.resource.kind)
    values = f" ({failure.old} → {failure.new})" if failure.old and failure.new else ""
    if failure.allowed and not immutable and failure.resource.kind == "StatefulSet":
        return f"{rejected}: Git changes an immutable field, such as {', '.join(IMMUTABLE_FIELDS)}"
    if failure.allowed and not immutable:
        mutable = ", ".join(failure.allowed)
        return f"{rejected}: Git changes an immutable field; only {mutable} can be changed"
    name = ", ".join(immutable) if failure.allowed else failure.field or "a field"
    if failure.is_emptied:
        return f"{rejected}: {name} is immutable and has a value, but Git sets it to an empty one"
    if failure.may_only_grow:
        return f"{rejected}: {name} can only grow, but Git reduces it{values}"
    return f"{rejected}: {name} is immutable, but Git changes it{values}"


def _is_reverted(immutable: tuple[str, ...], desired: Manifest | None, live: Manifest | None) -> bool:
    if not immutable or desired is None or live is None:
        return False
    return all(not isinstance(live.at(f), Missing) and desired.at(f) == live.at(f) for f in immutable)


def _sides(immutable: tuple[str, ...], desired: Manifest | None, live: Manifest | None) -> Iterator[Evidence]:
    for field in immutable[:3]:
        if desired is not None:
            yield cite(desired, field, says="declared in Git")
        if live is not None:
            yield cite(live, field, says="live value")


def _fixes_of_unnamed(case: Case) -> Iterator[Fix]:
    """Nothing is deleted while the object is unknown: the Application itself is not the rejected object."""
    yield Fix.run(
        *_show_change(case, None, ()),
        "git revert COMMIT && git push   # the commit that changed the field",
        title="Find the object that Git changes, then revert the change of this field in Git",
    )


def _show_change(case: Case, ref: Ref | None, immutable: tuple[str, ...]) -> Iterator[str]:
    """Both sides of the change. `argocd app diff` shows the comparison, which has to have succeeded."""
    app = app_argument(case)
    if case.app.status.sync.status != "Unknown":
        what = (
            f"which fields of {ref} Git changes" if ref is not None else "which object and field Git changes"
        )
        yield with_comment(f"argocd app diff {app}", what)
        return
    field = dotted_path(immutable[0]) if immutable else "the field"
    yield with_comment(f"argocd app manifests {app} --source git", f"{field} in Git")
    if ref is None:
        yield with_comment(f"argocd app manifests {app} --source live", f"{field} in the cluster")
    else:
        yield with_comment(on_object("get", placed(case, ref), "-o", "yaml"), f"{field} in the cluster")


def _fixes(case: Case, ref: Ref, immutable: tuple[str, ...], *, emptied: bool = False) -> Iterator[Fix]:
    fixes = (_revert(case, ref, immutable, emptied=emptied), *_recreate(case, ref, immutable))
    if ref.kind == "Job" and not _is_running(case, ref):
        # A Job runs once per release: the change is wanted, and the finished run is of no use.
        yield from fixes[1:]
        yield from _as_a_hook(case, ref)
        yield fixes[0]
        return
    yield from fixes


def _is_running(case: Case, ref: Ref) -> bool:
    live = case.live_of(ref.key)
    return live is not None and live.status.get("active") not in (None, 0)


def _as_a_hook(case: Case, ref: Ref) -> Iterator[Fix]:
    """A hook of PostSync: in the Sync phase, the sync that prunes the old Job counts the hook as done.

    Mirrors `resultKey` of gitops-engine, Argo CD 3.6: the prune of the Job and a hook of its name in the same
    phase have the same key.
    """
    title = "So that the next release does not fail: make it a PostSync hook, which each sync creates again"
    risk = (
        "it then runs at every sync, after the other objects, also without a change; the finished run is"
        " deleted with its Pods and logs"
    )
    if case.desired_of(ref.key) is None:
        yield Fix.run(
            comment("on the Job, as annotations: argocd.argoproj.io/hook: PostSync"),
            comment("(PreSync, if the others need it first)"),
            comment("and argocd.argoproj.io/hook-delete-policy: BeforeHookCreation; commit and push, then"),
            sync(case),
            title=title,
            risk=risk,
        )
        return
    yield Fix.change(
        ref,
        Set(pointer=HOOK, value="PostSync"),
        Set(pointer=HOOK_DELETE_POLICY, value="BeforeHookCreation"),
        title=title,
        risk=risk,
    )


def _revert(case: Case, ref: Ref, immutable: tuple[str, ...], *, emptied: bool) -> Fix:
    desired, live = case.desired_of(ref.key), case.live_of(ref.key)
    edits = tuple(_reverting(immutable, live)) if desired is not None and live is not None else ()
    if edits:
        which = "old" if case.is_predicted else "live"
        return Fix.change(ref, *edits, title=f"Restore the {which} value of the field in Git")
    if emptied and immutable:
        name = split(immutable[0])[-1]
        return Fix.run(
            with_comment(f"git grep -n '{name}:'", "in the manifest, the chart or its values"),
            comment(f'delete the line {name}: ""; if there is none, a commit removed the field: restore it'),
            sync(case),
            title=f"Delete the empty {name} from the manifest or the values of the chart, then sync",
        )
    return Fix.run(
        *_show_change(case, ref, immutable),
        "git revert COMMIT && git push   # the commit that changed the field",
        title="Revert the change of this field in Git",
    )


def _recreate(case: Case, ref: Ref, immutable: tuple[str, ...]) -> Iterator[Fix]:
    desired, live = case.desired_of(ref.key), case.live_of(ref.key)
    growth = growth_fix(case, immutable, desired, live) if desired is not None and live is not None else None
    if growth is not None:
        yield growth
        return  # to recreate it would not change the size of existing claims
    if ref.kind == "StatefulSet":
        yield Fix.run(
            _delete(case, ref, "--cascade=orphan"),
            sync(case),
            title="Recreate only the StatefulSet: its Pods and volumes stay",
            risk="; ".join(_left_as_it_is(immutable)),
            destroys=("the StatefulSet object, until the sync recreates it",),
        )
        return  # to delete its Pods as well only loses more
    cost = deletion_cost(case, ref) or "the object and its dependents"
    if desired is not None and ref.kind not in _NEVER_REPLACED:
        yield Fix.change(
            ref,
            with_options(desired, "Replace=true", "Force=true"),
            title="Recreate it: Replace=true,Force=true on this object, for one sync",
            risk="; ".join(filter(None, ("remove the option after the sync", _waits_for_users(case, ref)))),
            destroys=(cost,),
        )
    else:
        yield Fix.run(
            *_saved_instances(ref),
            _delete(case, ref),
            sync(case),
            title="Recreate it: delete the object, then sync",
            risk=_waits_for_users(case, ref),
            destroys=(cost,),
        )


def _delete(case: Case, ref: Ref, *flags: str) -> str:
    target = placed(case, ref)
    command = on_object("delete", target, *flags)
    guessed = target.namespace and target.namespace != ref.namespace and case.live_of(ref.key) is None
    hint = "the app's destination; the message names no namespace"
    return with_comment(command, hint) if guessed else command


def _saved_instances(ref: Ref) -> Iterator[str]:
    """The name of a CRD is the name of its kind for kubectl."""
    if ref.kind == "CustomResourceDefinition":
        save = f"{kubectl('get', ref.name, '-A', '-o', 'yaml')} > {quote(f'{ref.name}.yaml')}"
        yield with_comment(save, "its objects, to create them again afterwards")


def _left_as_it_is(immutable: tuple[str, ...]) -> Iterator[str]:
    """What the new StatefulSet does not change in the Pods and claims that it adopts."""
    if not immutable or any(field.startswith(_CLAIMS) for field in immutable):
        yield "existing claims keep their size and class; only those of new ordinals get the new ones"
    if not immutable or _SERVICE_NAME in immutable:
        yield "running Pods keep the host names of the old serviceName until they are restarted"
    if not _keeps_selector(immutable):
        yield _ORPHANS


def _keeps_selector(immutable: tuple[str, ...]) -> bool:
    """Is it known that Git does not change the selector? Only then are the Pods adopted."""
    return bool(immutable) and not any(field.startswith(SELECTOR) for field in immutable)


def _waits_for_users(case: Case, ref: Ref) -> str:
    """The deletion of a claim waits until no Pod uses it."""
    if ref.kind != "PersistentVolumeClaim":
        return ""
    live = case.live_of(ref.key)
    users = [pod.ref for pod, _ in users_of_storage(case, live)] if live is not None else []
    who = f"{listed(users)} {'uses' if len(users) == 1 else 'use'}" if users else "a Pod uses"
    return f"the deletion waits while {who} the claim: scale the workload to 0 first"


def _reverting(immutable: tuple[str, ...], live: Manifest) -> Iterator[Edit]:
    """Edits that restore the live values; for a selector, also the Pod labels that it matches."""
    for field in immutable:
        value = live.at(field)
        if not isinstance(value, Missing):
            yield Set(pointer=field, value=value)
    if SELECTOR in immutable:
        for label, value in fields(live.at(f"{SELECTOR}/matchLabels")).items():
            yield Set(pointer=child(LABELS, label), value=value)

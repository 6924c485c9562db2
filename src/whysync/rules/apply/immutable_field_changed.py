"""Git changes a field that Kubernetes does not let anyone change.

## What happens
Some fields are fixed when an object is created: a Deployment's `spec.selector`, a Job's
`spec.template`, most of a StatefulSet's `spec`, a Service's `clusterIP`, a binding's `roleRef`. The
API server refuses the whole object, and the sync fails. Syncing again fails in the same way.

## How whysync knows
The API server's own words in the operation (`field is immutable`, `updates to statefulset spec for
fields other than …`), or hidden inside a server-side diff error.

## Fix
Take the change back in Git, so that the field has its live value again. Or recreate the object on
purpose (`Replace=true,Force=true` as its sync option): that deletes it first, with all that hangs
on it.

## When it is something else
A webhook or policy that forbids the change says so with its own name: that is admission-denied.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.fix import Edit
from whysync.json_tree import Missing, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import ImmutableField
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import on_object, sync
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.sync_options import with_options
from whysync.queries.sync_position import keeps_old_run

SELECTOR = "/spec/selector"
LABELS = "/spec/template/metadata/labels"


@rule(cause="immutable-field", since="0.1")
def immutable_field_changed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ImmutableField, by=lambda f: (f.resource, f.pointer or f.field)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired, live = case.desired_of(ref.key), case.live_of(ref.key)
        if keeps_old_run(desired):
            continue  # an old run in the way of a new one: hook_already_exists tells it
        immutable = _fixed_fields(case, ref, failure)
        yield Finding(
            about=ref,
            field=immutable[0] if immutable else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(ref, failure, immutable),
            evidence=(
                *group.cited(says="the API server refuses the change"),
                *_sides(immutable, desired, live),
            ),
            fixes=tuple(_fixes(case, ref, immutable, desired, live)),
            already_fixed=sync_again(
                case,
                _is_reverted(immutable, desired, live),
                "Git has the live value again by now",
                "Sync again: the change has been taken back",
            ),
        )


def _fixed_fields(case: Case, ref: Ref, failure: ImmutableField) -> tuple[str, ...]:
    """The field that the text names; where it only lists what may change, those that differ beside it."""
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


def _verdict(ref: Ref, failure: ImmutableField, immutable: tuple[str, ...]) -> str:
    values = f" ({failure.old} → {failure.new})" if failure.old and failure.new else ""
    if failure.allowed and not immutable:
        mutable = ", ".join(failure.allowed)
        return f"{ref}: Git changes a field that is fixed at creation; only {mutable} may change"
    name = ", ".join(immutable) if failure.allowed else failure.field or "a field"
    return f"{ref}: {name} is fixed at creation, and Git changes it{values}"


def _is_reverted(immutable: tuple[str, ...], desired: Manifest | None, live: Manifest | None) -> bool:
    if not immutable or desired is None or live is None:
        return False
    return all(not isinstance(live.at(f), Missing) and desired.at(f) == live.at(f) for f in immutable)


def _sides(immutable: tuple[str, ...], desired: Manifest | None, live: Manifest | None) -> Iterator[Evidence]:
    for field in immutable[:3]:
        if desired is not None:
            yield cite(desired, field, says="Git asks for this")
        if live is not None:
            yield cite(live, field, says="the cluster has this")


def _fixes(
    case: Case, ref: Ref, immutable: tuple[str, ...], desired: Manifest | None, live: Manifest | None
) -> Iterator[Fix]:
    edits = tuple(_reverting(immutable, live)) if desired is not None and live is not None else ()
    if edits:
        yield Fix.change(ref, *edits, title="Give the field its live value again in Git")
    else:
        yield Fix.run(
            on_object("get", ref, "-o", "yaml") + "   # the value that must stay",
            "git revert COMMIT   # the one that changed the field",
            title="Take the change of this field back in Git",
        )
    if ref.kind == "StatefulSet":
        yield Fix.run(
            on_object("delete", ref, "--cascade=orphan"),
            sync(case),
            title="Recreate only the StatefulSet: its Pods and volumes stay, and are taken over",
            risk="volumes keep their old size and class; new Pods get the new ones",
            destroys=("the StatefulSet object itself, for a moment",),
        )
    cost = deletion_cost(case, ref) or "the object, and what belongs to it"
    if desired is not None:
        yield Fix.change(
            ref,
            with_options(desired, "Replace=true", "Force=true"),
            title="Recreate it: Replace=true,Force=true on this object, for one sync",
            risk="take the option off again after the sync",
            destroys=(cost,),
        )
    else:
        yield Fix.run(
            on_object("delete", ref),
            sync(case),
            title="Recreate it: delete the object, then sync",
            destroys=(cost,),
        )


def _reverting(immutable: tuple[str, ...], live: Manifest) -> Iterator[Edit]:
    """The live values; with a selector go the labels that it must find on the Pods."""
    for field in immutable:
        value = live.at(field)
        if not isinstance(value, Missing):
            yield Set(pointer=field, value=value)
    if SELECTOR in immutable:
        for label, value in fields(live.at(f"{SELECTOR}/matchLabels")).items():
            yield Set(pointer=child(LABELS, label), value=value)

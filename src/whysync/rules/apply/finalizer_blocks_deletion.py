"""An object has been terminating for a long time: a finalizer has not been removed.

## What happens
A finalizer makes Kubernetes keep an object until its controller has cleaned up. If that controller was
uninstalled or fails, the object stays in deletion forever: a prune or the deletion of an Application waits
for it, and an object of the same name cannot be created.

## How whysync knows
A live object has a `deletionTimestamp` and finalizers; or the operation waits for its deletion; or Argo CD
reports that it cannot delete it; or the Application itself was deleted long ago and still exists.

## Fix
Get the controller that handles the finalizer working again. Only if that controller no longer exists, remove
the finalizer manually. `foregroundDeletion` belongs to the garbage collector of Kubernetes: it waits for the
dependents with `blockOwnerDeletion`, which have to be deleted first. Kubernetes removes the finalizers that
protect claims and volumes when nothing uses them anymore; never remove these manually.

## When it is something else
The namespace itself is being deleted: namespace-terminating.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import counted
from whysync.diagnosis.symptom import DELETION, OPERATION, SymptomId
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import DeletionFailed, FinalizerStuck
from whysync.messages.patterns.operations import Awaited
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    argocd_namespace,
    comment,
    kubectl,
    on_object,
    with_comment,
)
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.finalizers import (
    DELETION_TIMESTAMP,
    FOREGROUND,
    PROTECTIONS,
    REMOVE_FINALIZERS,
    blocking_dependents,
    finalizers_of,
    is_stuck_in_deletion,
    users_of_storage,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.timestamps import age_at, age_text
from whysync.queries.waiting_on import wait_of

RETAIN = '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
_COLUMNS = "NAME:.metadata.name,POLICY:.spec.persistentVolumeReclaimPolicy,CLAIM:.spec.claimRef.name"


@rule(cause="finalizer-stuck", since="0.1")
def finalizer_blocks_deletion(case: Case) -> Iterator[Finding]:
    reported: set[str] = set()
    for group in grouped(case, FinalizerStuck, by=lambda failure: failure.resource):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        live = case.live_of(ref.key)
        reported.add(str(ref.key))
        yield _finding(
            case,
            ref,
            live,
            explains=group.explains,
            evidence=group.cited(says="its deletion is blocked"),
            finalizers=(failure.finalizer,) if failure.finalizer else finalizers_of(live),
        )
    for live in case.index.being_deleted:
        if str(live.key) not in reported and is_stuck_in_deletion(case, live):
            explains = tuple(_about(case, live))
            if explains:
                yield _finding(
                    case, live.ref, live, explains=explains, evidence=(), finalizers=finalizers_of(live)
                )
                reported.add(str(live.key))
    of_application = tuple(_of_the_application(case))
    yield from of_application
    if not reported and not of_application:
        yield from _without_condition(case)


def _without_condition(case: Case) -> Iterator[Finding]:
    """The Application was deleted long ago, and no condition reports why it still exists."""
    if DELETION not in case.symptom_ids or not case.app.metadata.finalizers:
        return
    if any(condition.type.endswith("Error") for condition in case.app.status.conditions):
        return
    remaining = [row.ref for row in case.app.status.resources if case.live_of(row.key) is not None]
    remaining_text = ""
    if remaining:
        remaining_text = f"; it still has {counted(len(remaining), 'resource')}, first {remaining[0]}"
    yield Finding(
        about=case.application.ref,
        field="/metadata/finalizers",
        explains=(DELETION,),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"{case.application.ref} has been terminating for {age_text(case.being_deleted_for)}:"
        f" {_not_removed(case.app.metadata.finalizers)}{remaining_text}",
        evidence=(
            *_cited(case.application),
            *(
                cite(case.application, "/status/resources/0", says="a resource that is still listed")
                for _ in remaining[:1]
            ),
        ),
        fixes=(
            Fix.run(
                kubectl("logs", CONTROLLER, namespace=argocd_namespace(case))
                + f" | grep {app_argument(case)}",
                with_comment(
                    on_object("get", case.application.ref, "-o", "yaml"),
                    "its remaining resources and conditions",
                ),
                title="Check that the application controller runs, and what it cannot delete",
            ),
            Fix.run(
                on_object("patch", case.application.ref, "--type=merge", "-p", REMOVE_FINALIZERS),
                title="Only if its resources may stay, or are gone: remove the finalizer",
                destroys=(
                    "the Application, immediately; resources that are not deleted yet stay in the cluster",
                ),
            ),
        ),
    )


def _of_the_application(case: Case) -> Iterator[Finding]:
    """Argo CD cannot delete a resource of the Application, so the Application stays too."""
    for group in grouped(case, DeletionFailed, by=lambda failure: failure.resource):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        yield _finding(
            case,
            ref,
            case.live_of(ref.key),
            explains=(*group.explains, *_deletion(case)),
            evidence=group.cited(says="Argo CD cannot delete it"),
            finalizers=finalizers_of(case.live_of(ref.key)) or case.app.metadata.finalizers,
            sure=False,
        )


def _about(case: Case, live: Manifest) -> Iterator[SymptomId]:
    """What it blocks: the symptoms of its own row, and an operation that waits for its deletion."""
    yield from (s.id for s in case.symptoms if s.ref is not None and s.ref.key == live.key)
    if live.key in case.rows:
        yield from _deletion(case)
    wait = wait_of(case)
    if (wait is not None and wait.ref.key == live.key and OPERATION in case.symptom_ids) or (
        wait is not None and wait.what is Awaited.DELETION and wait.ref.name == live.ref.name
    ):
        yield OPERATION


def _deletion(case: Case) -> tuple[SymptomId, ...]:
    return tuple(id for id in (DELETION,) if id in case.symptom_ids)


def _finding(
    case: Case,
    ref: Ref,
    live: Manifest | None,
    *,
    explains: tuple[SymptomId, ...],
    evidence: tuple[Evidence, ...],
    finalizers: tuple[str, ...],
    sure: bool = True,
) -> Finding:
    since = age_at(case, live, DELETION_TIMESTAMP)
    if live is not None and finalizers and PROTECTIONS.issuperset(finalizers):
        return _in_use(case, live, explains=explains, evidence=evidence, finalizers=finalizers)
    if live is not None and finalizers == (FOREGROUND,):
        return _waits_for_dependents(case, live, explains=explains, evidence=evidence)
    age = f" for {age_text(since)}" if since is not None else ""
    return Finding(
        about=ref,
        field="/metadata/finalizers",
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if sure and finalizers else Confidence.MEDIUM,
        verdict=f"{ref} has been terminating{age}: {_not_removed(finalizers)}",
        evidence=(*evidence, *_cited(live)),
        fixes=(
            Fix.run(
                on_object("get", ref, "-o", "yaml") + "   # its finalizers and its status",
                title=f"Get the controller of {_names(finalizers)} working: it removes the finalizer",
            ),
            Fix.run(
                on_object("patch", ref, "--type=merge", "-p", REMOVE_FINALIZERS),
                title="Only if that controller no longer exists: remove the finalizer",
                destroys=("the object, immediately; what the finalizer should have cleaned up stays behind",),
            ),
        ),
    )


def _waits_for_dependents(
    case: Case, live: Manifest, *, explains: tuple[SymptomId, ...], evidence: tuple[Evidence, ...]
) -> Finding:
    """The garbage collector removes this finalizer when the dependents that block the deletion are gone."""
    blocking = blocking_dependents(case, live)
    since = age_at(case, live, DELETION_TIMESTAMP)
    age = f" for {age_text(since)}" if since is not None else ""
    names = ", ".join(str(item.ref) for item, _ in blocking[:3])
    names += f" and {len(blocking) - 3} more" if len(blocking) > 3 else ""
    verb = "has" if len(blocking) == 1 else "have"
    why = f"{names} {verb} not been deleted yet" if blocking else "dependents have not been deleted yet"
    commands = [on_object("get", item.ref, "-o", "yaml") for item, _ in blocking[:3]]
    return Finding(
        about=live.ref,
        field="/metadata/finalizers",
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if blocking else Confidence.MEDIUM,
        verdict=f"{live.ref} has been terminating{age}: {why} ({FOREGROUND})",
        root=why if blocking else None,
        evidence=(
            *evidence,
            *_cited(live),
            *(cite(item, pointer, says="blocks the deletion of its owner") for item, pointer in blocking[:3]),
        ),
        fixes=(
            Fix.run(
                *(commands or [with_comment(on_object("get", live.ref, "-o", "yaml"), "its UID")]),
                *(
                    ()
                    if blocking
                    else (
                        comment(
                            "the dependents have this UID in ownerReferences, with blockOwnerDeletion: true"
                        ),
                    )
                ),
                title=f"Find out why {names or 'its dependents'} cannot be deleted (finalizers, Pods)",
                risk=f"do not remove {FOREGROUND} manually: nothing then waits for the dependents",
            ),
        ),
    )


def _names(finalizers: tuple[str, ...]) -> str:
    return ", ".join(finalizers) or "the finalizer"


def _not_removed(finalizers: tuple[str, ...]) -> str:
    """`finalizer example.com/cleanup has not been removed`."""
    if not finalizers:
        return "a finalizer has not been removed"
    noun, verb = ("finalizer", "has") if len(finalizers) == 1 else ("finalizers", "have")
    return f"{noun} {', '.join(finalizers)} {verb} not been removed"


def _in_use(
    case: Case,
    live: Manifest,
    *,
    explains: tuple[SymptomId, ...],
    evidence: tuple[Evidence, ...],
    finalizers: tuple[str, ...],
) -> Finding:
    """Kubernetes removes these finalizers as soon as nothing uses the object."""
    users = users_of_storage(case, live)
    since = age_at(case, live, DELETION_TIMESTAMP)
    age = f" for {age_text(since)}" if since is not None else ""
    names = ", ".join(str(user.ref) for user, _ in users[:3]) + (" and more" if len(users) > 3 else "")
    why = (
        f"{names} still {'uses' if len(users) == 1 else 'use'} it"
        if users
        else f"something still uses it ({', '.join(finalizers)})"
    )
    commands = [on_object("describe", user.ref) for user, _ in users[:3]]
    commands = commands or [with_comment(on_object("describe", live.ref), "Used By")]
    return Finding(
        about=live.ref,
        field="/metadata/finalizers",
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"{live.ref} has been terminating{age}: {why}",
        root=why if users else None,
        evidence=(
            *evidence,
            *_cited(live),
            *(
                cite(user, pointer, says="uses the object that is being deleted")
                for user, pointer in users[:3]
            ),
        ),
        fixes=(
            *_retain(live),
            Fix.run(
                *commands,
                title=f"If the data may be deleted: stop {names or 'what uses it'};"
                " Kubernetes then removes the finalizer",
                risk="do not remove this finalizer manually: the volume would be deleted under a running Pod",
                destroys=(f"{live.ref}; {deletion_cost(case, live.ref)}",),
            ),
        ),
    )


def _retain(live: Manifest) -> Iterator[Fix]:
    """The deletion of a claim cannot be canceled, but its volume can be kept."""
    volume = text(live.spec.get("volumeName")) if live.ref.kind == "PersistentVolumeClaim" else live.ref.name
    show = (
        kubectl("get", "pv", volume) if volume else kubectl("get", "pv", "-o", f"custom-columns={_COLUMNS}")
    )
    yield Fix.run(
        with_comment(show, "the volume and its reclaim policy"),
        with_comment(kubectl("patch", "pv", volume or "NAME", "-p", RETAIN), "before you stop anything"),
        title="If the data must stay: set the volume's reclaim policy to Retain first"
        " (a deletion cannot be canceled)",
    )


def _cited(live: Manifest | None) -> Iterator[Evidence]:
    if live is not None:
        yield cite(live, DELETION_TIMESTAMP, says="when it was deleted")
        yield cite(live, "/metadata/finalizers", says="finalizers that remain")

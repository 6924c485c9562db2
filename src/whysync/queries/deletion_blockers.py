"""What blocks the deletion of an object: users of a volume, dependents, or the controller of a finalizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.sentences import listed
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import comment, kubectl, on_object, with_comment
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.finalizers import (
    FOREGROUND,
    INSTANCES,
    PROTECTIONS,
    REMOVE_FINALIZERS,
    blocking_dependents,
    users_of_storage,
)

_MOST = 3
_FINALIZER_COLUMNS = "NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"
_RETAIN = '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
_KEPT = "the volume is no longer deleted with its claim: delete it yourself when it is not needed"
_HELD_BY = "if it hangs: its own finalizers, or Pods that do not end"
_RELEASE = '{"spec":{"claimRef":null}}'
_MOST_OWNERS = 4
_SCALABLE = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})
_COLUMNS = "NAME:.metadata.name,POLICY:.spec.persistentVolumeReclaimPolicy,CLAIM:.spec.claimRef.name"


class DeletionBlocker(msgspec.Struct, frozen=True, kw_only=True):
    """`why` completes "X has been terminating: …"."""

    about: Ref
    why: str
    confidence: Confidence
    fixes: tuple[Fix, ...]
    root: str | None = None
    evidence: tuple[Evidence, ...] = ()


def blocker_of(
    case: Case, ref: Ref, live: Manifest | None, finalizers: tuple[str, ...], *, sure: bool
) -> DeletionBlocker:
    """`sure` is false if the finalizers may not be the reason that the object is not deleted."""
    if live is not None and finalizers and PROTECTIONS.issuperset(finalizers):
        return _users(case, live, finalizers)
    if live is not None and finalizers == (FOREGROUND,):
        return _dependents(case, live)
    if live is not None and finalizers == (INSTANCES,):
        return _instances(case, live)
    controller = _controller_of(finalizers)
    return DeletionBlocker(
        about=ref,
        why=not_removed(finalizers),
        confidence=Confidence.HIGH if sure and finalizers else Confidence.MEDIUM,
        fixes=(
            Fix.run(
                on_object("get", ref, "-o", "yaml") + "   # its finalizers and its status",
                comment(f"get {controller} working: its log shows what it cannot clean up"),
                with_comment(
                    on_object("wait", ref, "--for=delete", "--timeout=10m"),
                    "the controller removes the finalizer",
                ),
                title=f"Get {controller} working: it removes the finalizer",
            ),
            Fix.run(
                on_object("patch", ref, "--type=merge", "-p", REMOVE_FINALIZERS),
                title="Only if that controller no longer exists: remove the finalizer",
                destroys=("the object, immediately; what the finalizer should have cleaned up stays behind",),
            ),
        ),
    )


def _controller_of(finalizers: tuple[str, ...]) -> str:
    """Who removes them: the garbage collector removes its own once the others are gone."""
    names = [name for name in finalizers if name != FOREGROUND]
    if names and all("argocd.argoproj.io" in name for name in names):
        return "Argo CD's application controller"
    return f"the controller of {', '.join(names) or 'the finalizer'}"


def _instances(case: Case, definition: Manifest) -> DeletionBlocker:
    """The API server deletes all objects of the kind before their definition; one of them stays."""
    kind = text(fields(definition.spec.get("names")).get("kind"))
    group = definition.spec.get("group")
    remaining = [m for m in case.live_of_kind(kind) if m.ref.group == group] if kind else []
    found = f": {listed(manifest.ref for manifest in remaining)}" if remaining else ""
    plural = definition.ref.name
    return DeletionBlocker(
        about=definition.ref,
        why=f"the API server first deletes the objects of its kind, and not all are gone{found}",
        confidence=Confidence.HIGH,
        root="an object of the kind is not deleted",
        evidence=tuple(
            cite(manifest, "/metadata/name", says="an object of the kind") for manifest in remaining[:_MOST]
        ),
        fixes=(
            Fix.run(
                with_comment(
                    kubectl("get", plural, "-A", "-o", f"custom-columns={_FINALIZER_COLUMNS}"),
                    "what is left, and its finalizers",
                ),
                comment(
                    "get the controller of those finalizers working; it must run until the last is deleted"
                ),
                title="Let the controller of the kind finish the objects that are left",
                risk="deleting the definition deletes all of them",
            ),
        ),
    )


def not_removed(finalizers: Iterable[str]) -> str:
    """`finalizer example.com/cleanup has not been removed`."""
    names = tuple(finalizers)
    if not names:
        return "a finalizer has not been removed"
    noun, verb = ("finalizer", "has") if len(names) == 1 else ("finalizers", "have")
    return f"{noun} {', '.join(names)} {verb} not been removed"


def _users(case: Case, live: Manifest, finalizers: tuple[str, ...]) -> DeletionBlocker:
    """Kubernetes removes these finalizers as soon as nothing uses the object."""
    users = users_of_storage(case, live)
    names = ", ".join(str(user.ref) for user, _ in users[:_MOST]) + (
        " and more" if len(users) > _MOST else ""
    )
    why = f"something still uses it ({', '.join(finalizers)})"
    if users:
        why = f"{names} still {'uses' if len(users) == 1 else 'use'} it"
    commands = _stopping(case, [user.ref for user, _ in users[:_MOST]])
    return DeletionBlocker(
        about=live.ref,
        why=why,
        root=why if users else None,
        confidence=Confidence.HIGH,
        evidence=_cited(users, says="uses the object that is being deleted"),
        fixes=(
            *_retain(live, commands),
            Fix.run(
                *(
                    commands
                    or [with_comment(on_object("describe", live.ref), "Used By: stop what is listed")]
                ),
                with_comment(
                    on_object("wait", live.ref, "--for=delete", "--timeout=5m"),
                    "Kubernetes removes the finalizer when nothing uses it",
                ),
                title=f"If the data may be deleted: stop {names or 'what uses it'};"
                " Kubernetes then removes the finalizer",
                risk="do not remove this finalizer manually: the volume would be deleted under a running Pod",
                destroys=(f"{live.ref}; {deletion_cost(case, live.ref)}",),
            ),
        ),
    )


def controller_of(case: Case, pod: Ref) -> Ref | None:
    """The workload at the top of a Pod's owners; `None` if it has no owner in the facts."""
    at, top = case.live_named(pod.kind, pod.namespace, pod.name), None
    for _ in range(_MOST_OWNERS):
        owner = fields(next(iter(items(at.meta.get("ownerReferences"))), None)) if at is not None else {}
        kind, name = text(owner.get("kind")), text(owner.get("name"))
        if not kind or not name:
            break
        group = text(owner.get("apiVersion")).rpartition("/")[0]
        top = Ref(group=group, kind=kind, namespace=pod.namespace, name=name)
        at = case.live_named(kind, pod.namespace, name)
    return top


def _stopping(case: Case, users: list[Ref]) -> list[str]:
    """Commands that stop Pods: a workload is scaled to 0, because it would replace a deleted Pod."""
    commands: list[str] = []
    for user in users:
        if user.kind != "Pod":
            commands.append(with_comment(on_object("delete", user), "it is bound to the volume"))
            continue
        workload = controller_of(case, user)
        if workload is None:
            commands.append(
                with_comment(on_object("delete", user), "if a workload owns it: scale that to 0 instead")
            )
        elif workload.kind in _SCALABLE:
            keeps = "with self-heal, set replicas: 0 in Git instead" if workload.key in case.rows else ""
            scale = on_object("scale", workload, "--replicas=0")
            commands.append(with_comment(scale, keeps) if keeps else scale)
        else:
            commands.append(with_comment(on_object("get", workload), f"creates {user.name}: stop it"))
    return list(dict.fromkeys(commands))


def _retain(live: Manifest, stopping: list[str]) -> Iterator[Fix]:
    """The deletion of a claim cannot be canceled, but its volume can be kept."""
    is_claim = live.ref.kind == "PersistentVolumeClaim"
    volume = text(live.spec.get("volumeName")) if live.ref.kind == "PersistentVolumeClaim" else live.ref.name
    show = (
        kubectl("get", "pv", volume) if volume else kubectl("get", "pv", "-o", f"custom-columns={_COLUMNS}")
    )
    yield Fix.run(
        with_comment(show, "the volume and its reclaim policy"),
        with_comment(kubectl("patch", "pv", volume or "NAME", "-p", _RETAIN), "before you stop anything"),
        *(stopping if is_claim else ()),
        *(
            (
                with_comment(on_object("wait", live.ref, "--for=delete", "--timeout=5m"), "the volume stays"),
                with_comment(
                    kubectl("patch", "pv", volume or "NAME", "--type=merge", "-p", _RELEASE),
                    f"only now: a new claim with volumeName: {volume or 'NAME'} gets the data back",
                ),
            )
            if is_claim and stopping
            else ()
        ),
        title="If the data must stay: set the volume's reclaim policy to Retain first"
        " (a deletion cannot be canceled)" + ("; then let the claim go" if is_claim and stopping else ""),
        risk=(
            f"what used the claim is down until a new claim exists; {_KEPT}"
            if is_claim and stopping
            else _KEPT
        ),
    )


def _dependents(case: Case, live: Manifest) -> DeletionBlocker:
    """The garbage collector removes this finalizer when the dependents that block the deletion are gone."""
    blocking = blocking_dependents(case, live)
    names = listed((item.ref for item, _ in blocking), _MOST)
    verb = "has" if len(blocking) == 1 else "have"
    why = f"{names or 'dependents'} {verb} not been deleted yet"
    commands = [on_object("get", item.ref, "-o", "yaml") for item, _ in blocking[:_MOST]] or [
        with_comment(on_object("get", live.ref, "-o", "yaml"), "its UID"),
        comment("the dependents have this UID in ownerReferences, with blockOwnerDeletion: true"),
    ]
    return DeletionBlocker(
        about=live.ref,
        why=f"{why} ({FOREGROUND})",
        root=why if blocking else None,
        confidence=Confidence.HIGH if blocking else Confidence.MEDIUM,
        evidence=_cited(blocking, says="blocks the deletion of its owner"),
        fixes=(
            Fix.run(
                *commands,
                *(
                    with_comment(on_object("wait", item.ref, "--for=delete", "--timeout=10m"), _HELD_BY)
                    for item, _ in blocking[:_MOST]
                ),
                title=f"Get {names or 'its dependents'} deleted: Kubernetes then removes the finalizer",
                risk=f"do not remove {FOREGROUND} manually: nothing then waits for the dependents",
            ),
        ),
    )


def _cited(objects: list[tuple[Manifest, str]], *, says: str) -> tuple[Evidence, ...]:
    return tuple(cite(item, pointer, says=says) for item, pointer in objects[:_MOST])

"""The namespace is being deleted, so nothing new can be created in it.

## What happens
Somebody or something deleted the namespace. Until all that is in it is gone, Kubernetes refuses new
objects there. If one object's finalizer is never served (its controller is gone), the namespace
stays like this for ever.

## How whysync knows
`because it is being terminated` from the API server, or a Namespace of the app that is in deletion for
minutes. What is left in it, and which finalizers hold that, the live objects say; without them, the
namespace's own conditions.

## Fix
Get the controller of what is left working: it must finish first. When the namespace is gone, sync again:
with `CreateNamespace=true` it comes back. Only if that controller is gone for good, take the finalizer off.

## When it is something else
The namespace is simply not there: namespace-missing.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import NamespaceTerminating
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.resource_rows import row_evidence
from whysync.queries.timestamps import age_at

HELD = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure")
DELETED = "/metadata/deletionTimestamp"
PATIENCE = timedelta(minutes=2)
NONE_LEFT = '{"metadata":{"finalizers":null}}'
MOST = 5
LOST = (SymptomKind.MISSING, SymptomKind.UNHEALTHY, SymptomKind.EXTRA)


@rule(cause="namespace-terminating", since="0.1")
def namespace_terminating(case: Case) -> Iterator[Finding]:
    reported: set[str] = set()
    for group in grouped(case, NamespaceTerminating, by=lambda failure: failure.namespace):
        name = group.failure.namespace or case.destination_namespace
        reported.add(name)
        evidence = group.cited(says="nothing can be created there now")
        yield _finding(case, name, explains=(*group.explains, *_inside(case, name)), evidence=evidence)
    for live in case.index.being_deleted:
        name = live.ref.name
        if live.ref.kind != "Namespace" or name in reported or not _is_long(case, live):
            continue
        row = case.rows.get(live.key)
        explains = _inside(case, name)
        if explains:
            row_cited = (
                (row_evidence(case, row, says="Argo CD waits for it to go"),) if row is not None else ()
            )
            yield _finding(case, name, explains=explains, evidence=row_cited)


def _inside(case: Case, name: str) -> tuple[SymptomId, ...]:
    """What is wrong with the namespace's own row, and with what went, or goes, with it."""
    namespace = case.live_named("Namespace", "", name)
    if namespace is None or not namespace.meta.get("deletionTimestamp"):
        return ()
    own = symptoms_about(case, namespace.ref) if namespace.key in case.rows else ()
    lost = (
        symptom.id
        for symptom in case.symptoms
        if symptom.ref is not None and symptom.ref.namespace == name and symptom.kind in LOST
        if (live := case.live_of(symptom.ref.key)) is None or live.meta.get("deletionTimestamp")
    )
    return tuple(dict.fromkeys((*own, *lost)))


def _finding(
    case: Case, name: str, *, explains: tuple[SymptomId, ...], evidence: tuple[Evidence, ...]
) -> Finding:
    live = case.live_named("Namespace", "", name)
    remaining = _left(case, name)
    return Finding(
        about=live.ref if live else Ref(version="v1", kind="Namespace", name=name),
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"namespace {name} is being deleted" + _why(live, remaining),
        evidence=(*evidence, *_cited(live, remaining)),
        fixes=tuple(_fixes(case, name, remaining)),
    )


def _is_long(case: Case, live: Manifest) -> bool:
    """Emptying a namespace takes a while."""
    age = age_at(case, live, DELETED)
    return age is not None and age >= PATIENCE


def _left(case: Case, name: str) -> tuple[Manifest, ...]:
    """What is in it, being deleted, and held by a finalizer."""
    inside = case.index.live_by_namespace.get(name, ())
    return tuple(
        manifest for manifest in inside if manifest.meta.get("deletionTimestamp") and _finalizers(manifest)
    )


def _finalizers(manifest: Manifest) -> tuple[str, ...]:
    return tuple(text(finalizer) for finalizer in items(manifest.meta.get("finalizers")))


def _why(namespace: Manifest | None, remaining: tuple[Manifest, ...]) -> str:
    if remaining:
        first, *others = remaining
        more = f" and {len(others)} more do" if others else " does"
        return f", and {first.ref}{more} not go: {', '.join(_finalizers(first))} holds it"
    indexes = _held(namespace) if namespace is not None else ()
    messages = [
        text(namespace.at(f"/status/conditions/{index}/message"))
        for index in indexes
        if namespace is not None
    ]
    return f": {messages[0]}" if messages else ""


def _held(namespace: Manifest) -> Iterator[int]:
    for index, condition in enumerate(items(namespace.status.get("conditions"))):
        entry = fields(condition)
        if text(entry.get("type")) in HELD and text(entry.get("status")) == "True":
            yield index


def _cited(namespace: Manifest | None, remaining: tuple[Manifest, ...]) -> Iterator[Evidence]:
    if namespace is not None:
        yield cite(namespace, DELETED, says="since when it is being deleted")
    for manifest in remaining[:MOST]:
        yield cite(manifest, "/metadata/finalizers", says="who must finish first")
    if namespace is not None:
        for index in _held(namespace):
            yield cite(namespace, f"/status/conditions/{index}/message", says="what is left in it")


def _fixes(case: Case, name: str, remaining: tuple[Manifest, ...]) -> Iterator[Fix]:
    sync_when_gone = with_comment(sync(case), "once it is gone")
    loss = "whatever the finalizer should have cleaned up outside the cluster stays behind"
    if remaining:
        finalizers = ", ".join(
            dict.fromkeys(finalizer for manifest in remaining[:MOST] for finalizer in _finalizers(manifest))
        )
        yield Fix.run(
            *(on_object("get", manifest.ref, "-o", "yaml") for manifest in remaining[:MOST]),
            comment(f"get the controller behind {finalizers} working, and wait until the namespace is gone"),
            sync_when_gone,
            title=f"Get the controller behind {finalizers} working: it must finish, then the namespace goes",
        )
        yield Fix.run(
            *(
                on_object("patch", manifest.ref, "--type=merge", "-p", NONE_LEFT)
                for manifest in remaining[:MOST]
            ),
            sync(case),
            title="Only if that controller is gone for good: take the finalizer off, then sync",
            destroys=(*(f"{manifest.ref} at once" for manifest in remaining[:MOST]), loss),
        )
        return
    list_kinds = "kubectl api-resources --verbs=list --namespaced -o name"
    yield Fix.run(
        with_comment(kubectl("get", "namespace", name, "-o", "yaml"), "its conditions say what is left"),
        f"{list_kinds} | xargs -n1 {kubectl('get', '--ignore-not-found', '--show-kind', namespace=name)}",
        comment("see what holds what is left, and wait until the namespace is gone"),
        sync_when_gone,
        title="Find what holds it back; wait until it is gone, then sync",
    )
    yield Fix.run(
        comment(f"for what is left: kubectl -n {name} patch KIND NAME --type=merge -p '{NONE_LEFT}'"),
        title="If a finalizer's controller is gone for good: take the finalizer off what is left",
        destroys=(loss,),
    )

"""The namespace is being deleted, so nothing can be created in it.

## What happens
The namespace was deleted. Until everything in it is gone, Kubernetes rejects new objects there. If the
finalizer of one object is never removed (its controller was uninstalled), the namespace stays Terminating
forever.

## How whysync knows
`because it is being terminated` from the API server, or a Namespace of the app that has been terminating for
minutes. The live objects show what remains in it and which finalizers they have; without them, the conditions
of the namespace do.

## Fix
Get the controller of the remaining objects working: it must finish first. When the namespace is gone, sync
again; `CreateNamespace=true` recreates it. Only if that controller no longer exists, remove the finalizer.

## When it is something else
The namespace does not exist: namespace-missing.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.sentences import counted
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import NamespaceTerminating
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.finalizers import DELETION_TIMESTAMP, REMOVE_FINALIZERS, finalizers_of
from whysync.queries.group_failures import grouped
from whysync.queries.timestamps import age_at

REMAINING = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure")
GRACE = timedelta(minutes=2)
MOST = 5
LOST = (SymptomKind.MISSING, SymptomKind.UNHEALTHY, SymptomKind.EXTRA)


@rule(cause="namespace-terminating", since="0.1")
def namespace_terminating(case: Case) -> Iterator[Finding]:
    reported: set[str] = set()
    for group in grouped(case, NamespaceTerminating, by=lambda failure: failure.namespace):
        name = group.failure.namespace or case.destination_namespace
        reported.add(name)
        evidence = group.cited(says="the API server rejects new objects there")
        yield _finding(case, name, explains=(*group.explains, *_inside(case, name)), evidence=evidence)
    for live in case.index.being_deleted:
        name = live.ref.name
        if live.ref.kind != "Namespace" or name in reported or not _is_long(case, live):
            continue
        row = case.rows.get(live.key)
        explains = _inside(case, name)
        if explains:
            row_cited = (
                (case.cited_row(row, says="Argo CD waits for its deletion"),) if row is not None else ()
            )
            yield _finding(case, name, explains=explains, evidence=row_cited)


def _inside(case: Case, name: str) -> tuple[SymptomId, ...]:
    """The symptoms of the namespace's own row, and of what was or is being deleted with it."""
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
    remaining = _remaining(case, name)
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
    """Has it been terminating for more than two minutes? Emptying a namespace takes a while."""
    age = age_at(case, live, DELETION_TIMESTAMP)
    return age is not None and age >= GRACE


def _remaining(case: Case, name: str) -> tuple[Manifest, ...]:
    """Objects in it that are being deleted and still have finalizers."""
    inside = case.index.live_by_namespace.get(name, ())
    return tuple(
        manifest for manifest in inside if manifest.meta.get("deletionTimestamp") and finalizers_of(manifest)
    )


def _why(namespace: Manifest | None, remaining: tuple[Manifest, ...]) -> str:
    if remaining:
        first, *others = remaining
        names = ", ".join(finalizers_of(first))
        more = f"; {counted(len(others), 'more object')} remain" if others else ""
        return f": finalizer {names} of {first.ref} has not been removed{more}"
    indexes = _remaining_conditions(namespace) if namespace is not None else ()
    messages = [
        text(namespace.at(f"/status/conditions/{index}/message"))
        for index in indexes
        if namespace is not None
    ]
    return f": {messages[0]}" if messages else ""


def _remaining_conditions(namespace: Manifest) -> Iterator[int]:
    for index, condition in enumerate(items(namespace.status.get("conditions"))):
        entry = fields(condition)
        if text(entry.get("type")) in REMAINING and text(entry.get("status")) == "True":
            yield index


def _cited(namespace: Manifest | None, remaining: tuple[Manifest, ...]) -> Iterator[Evidence]:
    if namespace is not None:
        yield cite(namespace, DELETION_TIMESTAMP, says="when it was deleted")
    for manifest in remaining[:MOST]:
        yield cite(manifest, "/metadata/finalizers", says="finalizers that remain")
    if namespace is not None:
        for index in _remaining_conditions(namespace):
            yield cite(namespace, f"/status/conditions/{index}/message", says="what remains in it")


def _fixes(case: Case, name: str, remaining: tuple[Manifest, ...]) -> Iterator[Fix]:
    wait_until_gone = kubectl("wait", f"namespace/{name}", "--for=delete", "--timeout=10m")
    loss = "what the finalizer should have cleaned up outside the cluster stays behind"
    if remaining:
        finalizers = ", ".join(
            dict.fromkeys(finalizer for manifest in remaining[:MOST] for finalizer in finalizers_of(manifest))
        )
        yield Fix.run(
            *(on_object("get", manifest.ref, "-o", "yaml") for manifest in remaining[:MOST]),
            comment(f"get the controller of {finalizers} working: its log shows what it cannot clean up"),
            wait_until_gone,
            sync(case),
            title=f"Get the controller of {finalizers} working: the namespace is deleted when it is done",
        )
        yield Fix.run(
            *(
                on_object("patch", manifest.ref, "--type=merge", "-p", REMOVE_FINALIZERS)
                for manifest in remaining[:MOST]
            ),
            wait_until_gone,
            sync(case),
            title="Only if that controller no longer exists: remove the finalizer, then sync",
            destroys=(
                f"{', '.join(str(manifest.ref) for manifest in remaining[:MOST])} immediately; {loss}",
            ),
        )
        return
    list_kinds = "kubectl api-resources --verbs=list --namespaced -o name"
    yield Fix.run(
        with_comment(kubectl("get", "namespace", name, "-o", "yaml"), "its conditions list what remains"),
        f"{list_kinds} | xargs -n1 {kubectl('get', '--ignore-not-found', '--show-kind', namespace=name)}",
        comment("get what is listed deleted: the controllers of its finalizers have to run"),
        wait_until_gone,
        sync(case),
        title="Find the objects that block the deletion, wait until the namespace is gone, then sync",
    )
    yield Fix.run(
        comment(f"for each object: kubectl -n {name} patch KIND NAME --type=merge -p '{REMOVE_FINALIZERS}'"),
        wait_until_gone,
        sync(case),
        title="Only if a finalizer's controller no longer exists: remove the finalizer",
        destroys=(loss,),
    )

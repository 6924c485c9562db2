"""The namespace is being deleted, so nothing new can be created in it.

## What happens
Somebody or something deleted the namespace. Until all that is in it is gone, Kubernetes refuses new
objects there. If one object's finalizer is never served (its controller is gone), the namespace
stays like this for ever.

## How whysync knows
`because it is being terminated` from the API server, or a Namespace of the app that is in deletion for
minutes; and the namespace's own conditions say what is left.

## Fix
Find what is left in it and what holds that back. When the namespace is gone, sync again: with
`CreateNamespace=true` it comes back.

## When it is something else
The namespace is simply not there: namespace-missing.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.contracts.manifest import Manifest
from whysync.contracts.ref import Ref
from whysync.contracts.tree import fields, items, text
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import kubectl, sync
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.instants import age_at
from whysync.diagnosis.rows import row_evidence
from whysync.diagnosis.rows_above import symptoms_about
from whysync.semantics.messages import NamespaceTerminating

HELD = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure")

PATIENCE = timedelta(minutes=2)
NONE_LEFT = '{"metadata":{"finalizers":null}}'


@rule(cause="namespace-terminating", since="0.1")
def namespace_is_terminating(case: Case) -> Iterator[Finding]:
    told: set[str] = set()
    for group in grouped(case, NamespaceTerminating, by=lambda failure: failure.namespace):
        name = group.failure.namespace or case.destination_namespace
        told.add(name)
        cited = group.cited(says="nothing can be created there now")
        yield _finding(case, name, explains=group.explains, said=cited)
    for live in case.world.being_deleted:
        row = case.rows.get(live.key)
        if (
            live.ref.kind == "Namespace"
            and row is not None
            and live.ref.name not in told
            and _is_long(case, live)
        ):
            own = symptoms_about(case, row.ref)
            if own:
                said = (row_evidence(case, row, says="Argo CD waits for it to go"),)
                yield _finding(case, live.ref.name, explains=own, said=said)


def _finding(case: Case, name: str, *, explains: tuple[str, ...], said: tuple[Evidence, ...]) -> Finding:
    live = case.live_named("Namespace", "", name)
    held = tuple(_held(live)) if live is not None else ()
    return Finding(
        about=live.ref if live else Ref(version="v1", kind="Namespace", name=name),
        explains=explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"namespace {name} is being deleted" + (f": {_says(live, held)}" if held else ""),
        evidence=(*said, *_cited(live, held)),
        fixes=tuple(_fixes(case, name)),
    )


def _is_long(case: Case, live: Manifest) -> bool:
    """Emptying a namespace takes a while."""
    age = age_at(case, live, "/metadata/deletionTimestamp")
    return age is not None and age >= PATIENCE


def _held(namespace: Manifest) -> Iterator[int]:
    for index, condition in enumerate(items(namespace.status.get("conditions"))):
        entry = fields(condition)
        if text(entry.get("type")) in HELD and text(entry.get("status")) == "True":
            yield index


def _says(namespace: Manifest | None, held: tuple[int, ...]) -> str:
    return text(namespace.at(f"/status/conditions/{held[0]}/message")) if namespace is not None else ""


def _cited(namespace: Manifest | None, held: tuple[int, ...]) -> Iterator[Evidence]:
    if namespace is not None:
        yield cite(namespace, "/metadata/deletionTimestamp", says="since when it is being deleted")
        for index in held:
            yield cite(namespace, f"/status/conditions/{index}/message", says="what is left in it")


def _fixes(case: Case, name: str) -> Iterator[Fix]:
    every = "kubectl api-resources --verbs=list --namespaced -o name"
    yield Fix.run(
        kubectl("get", "namespace", name, "-o", "yaml") + "   # its conditions say what is left",
        f"{every} | xargs -n1 {kubectl('get', '--ignore-not-found', '--show-kind', namespace=name)}",
        sync(case) + "   # once it is gone",
        title="Find what holds it back; wait until it is gone, then sync",
    )
    yield Fix.run(
        kubectl("patch", "KIND", "NAME", "--type=merge", "-p", NONE_LEFT, namespace=name),
        title="If a finalizer's controller is gone for good: take the finalizer off what is left",
        destroys=("whatever the finalizer should have cleaned up outside the cluster stays behind",),
    )

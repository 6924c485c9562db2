"""A container cannot be made from its spec.

## What happens
The image is there, and still the container cannot be created or started: its command does not exist, a
key is missing in a ConfigMap, it must not run as root and would, a mount is impossible. Kubernetes tries
again and again (`CreateContainerConfigError`, `CreateContainerError`, `RunContainerError`).

## How whysync knows
A container of the workload's Pods waits for such a reason, with the runtime's own message; or an event
says so.

## Fix
Mend what the message names, in the manifest.

## When it is something else
A Secret or ConfigMap that does not exist is a missing dependency. An image that cannot be pulled has a rule
of its own.
"""

from collections.abc import Iterator

from whysync.contracts.ref import Ref
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.commands import on_object
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.ran_before import with_way_back
from whysync.diagnosis.rows_above import row_over, symptoms_about
from whysync.diagnosis.words import one_line
from whysync.semantics.messages import ContainerConfigInvalid, DependencyMissing, understand

_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError"}
)


@rule(cause="config-error", since="0.1")
def container_cannot_be_made(case: Case) -> Iterator[Finding]:
    told: set[str] = set()
    for symptom in case.symptoms:
        if symptom.kind not in (SymptomKind.UNHEALTHY, SymptomKind.RESULT) or symptom.ref is None:
            continue
        for story in case.pods_of(symptom.ref):
            stuck = next((c for c in story.containers if c.waiting in _REASONS), None)
            if stuck is None or _names_what_is_missing(stuck.waiting_message):
                continue
            told.add(symptom.id)
            finding = Finding(
                about=symptom.ref,
                explains=(symptom.id,),
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"container {stuck.name} of {story.pod.ref} cannot be made:"
                f" {one_line(stuck.waiting_message) or stuck.waiting}",
                root=one_line(stuck.waiting_message) or None,
                evidence=(cite(story.pod, f"{stuck.pointer}/state/waiting", says="the runtime says why"),),
                fixes=_fixes(story.pod.ref),
            )
            yield with_way_back(case, finding)
            break
    for group in grouped(case, ContainerConfigInvalid, by=lambda f: f.detail):
        ref = group.ref
        about = (row_over(case, ref) if ref is not None else None) or ref or case.application.ref
        explains = tuple(dict.fromkeys((*group.explains, *symptoms_about(case, about))))
        if not told.isdisjoint(explains):
            continue
        yield Finding(
            about=about,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"a container of {about} cannot be made: {one_line(group.failure.detail)}",
            root=one_line(group.failure.detail) or None,
            evidence=group.cited(says="the node says so"),
            fixes=_fixes(about),
        )


def _names_what_is_missing(message: str) -> bool:
    return any(isinstance(failure, DependencyMissing) for failure in understand(message).failures)


def _fixes(ref: Ref) -> tuple[Fix, ...]:
    return (Fix.run(on_object("describe", ref), title="Mend what the message names in the manifest in Git"),)

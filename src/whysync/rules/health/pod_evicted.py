"""A node evicted the Pods of a workload, or rejected them.

## What happens
A node that runs low on memory, disk or process ids ends Pods, those that use more than they request first. A
container that writes more than its `ephemeral-storage` limit is ended too. The Pod stays as Failed with the
reason Evicted; its controller creates another one, which can end the same way.

## How whysync knows
`status.reason` and `status.message` of the Pod, or the kubelet's event.

## Fix
Request what the Pod needs of the resource that the message names, and limit it, so that the scheduler finds a
node with enough room. For ephemeral storage: write to a volume, or write less.

## When it is something else
A container that exceeds its own memory limit is killed by the kernel: oom. A node that is drained evicts too,
but its Pods start elsewhere at once.
"""

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import and_more, both_ends
from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import Evicted
from whysync.queries.commands import comment, kubectl, on_object
from whysync.queries.group_failures import grouped
from whysync.queries.reason_chain import Link, symptoms_on

REASON = "Evicted"


class _Eviction(msgspec.Struct, kw_only=True):
    message: str
    pods: list[Ref]
    evidence: list[Evidence]


@rule(cause="degraded-workload", since="0.1")
def pod_evicted(case: Case) -> Iterator[Finding]:
    evictions: dict[Ref, _Eviction] = {}
    for symptom in case.symptoms:
        if symptom.kind is SymptomKind.UNHEALTHY and symptom.ref is not None:
            eviction = _of_pods(case, symptom.ref)
            if eviction is not None:
                evictions[symptom.ref] = eviction
    for group in grouped(case, Evicted):
        about = (owning_row_of(case, group.ref) if group.ref is not None else None) or group.ref
        if about is None or any(history.failing for history in case.pods_of(about)):
            continue
        reported = _Eviction(message=group.failure.detail, pods=[group.ref or about], evidence=[])
        evictions.setdefault(about, reported).evidence.extend(group.cited(says="why the node evicted it"))
    for about, eviction in evictions.items():
        yield _finding(case, about, eviction)


def _of_pods(case: Case, ref: Ref) -> _Eviction | None:
    """Evicted Pods are kept for days: they count only while no other Pod of the workload fails."""
    stories = case.pods_of(ref)
    evicted = [history.pod for history in stories if history.pod.status.get("reason") == REASON]
    if not evicted or any(history.failing for history in stories):
        return None
    return _Eviction(
        message=text(evicted[0].status.get("message")) or REASON,
        pods=[pod.ref for pod in evicted],
        evidence=[cite(pod, "/status/message", says="why the node evicted it") for pod in evicted],
    )


def _why(failure: Evicted | None) -> str:
    if failure is None or not failure.resource:
        return ""
    used = f", and container {failure.container} used {failure.used} of it (request {failure.requested})"
    return f"its node was low on {failure.resource}{used if failure.container else ''}"


def _finding(case: Case, about: Ref, eviction: _Eviction) -> Finding:
    pods, message = eviction.pods, eviction.message
    failure = next((f for f in understand(message).failures if isinstance(f, Evicted)), None)
    resource = failure.resource if failure is not None else ""
    others = and_more(len(pods) - 1)
    owner = f" of {about}" if about.name != pods[0].name else ""
    chain = tuple(Link(ref=pod) for pod in pods)
    return Finding(
        about=about,
        explains=tuple(dict.fromkeys((*symptoms_about(case, about), *symptoms_on(case, chain)))),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"{pods[0]}{others}{owner} was evicted: {_why(failure) or both_ends(message)}",
        root=both_ends(message),
        evidence=tuple(eviction.evidence),
        fixes=(
            Fix.run(
                on_object("describe", pods[0]),
                comment(f"requests and limits of {resource or 'the resource'} in the Pod template; commit"),
                title=f"Set requests and limits of {resource or 'this resource'}, or reduce its use",
            ),
            Fix.run(
                "kubectl describe nodes | grep -A8 Conditions",
                kubectl("get", "pods", "-A", "--field-selector", "status.phase=Failed"),
                title="If other workloads exhaust the node: find them",
            ),
        ),
    )

"""The Pod is unschedulable.

## What happens
The scheduler finds no node for the Pod: too little free CPU or memory, a taint that it does not tolerate, a
selector or affinity that no node matches, a volume in another zone. The Pod stays Pending, the workload
Progressing, later Degraded.

## How whysync knows
The Pod's `PodScheduled` condition or the scheduler's event shows which reason excludes how many nodes. If the
nodes are in the facts, whysync names the label that none of them has, or the request that is too large for
all of them.

## Fix
Reduce the requests, add nodes, tolerate the taint, or correct the selector. Start with the reason that
excludes most nodes.

## When it is something else
A claim that is not bound keeps a Pod from being scheduled: then the claim is the cause. This is normal in the
first two minutes of a Pod: a volume is being created, or an autoscaler adds a node.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import Unschedulable, is_claim_unbound
from whysync.queries.commands import kubectl, on_object
from whysync.queries.previous_revision import with_revert
from whysync.queries.timestamps import age_at
from whysync.queries.unschedulable import remedies, why_unschedulable
from whysync.queries.waiting_on import awaited_hook

GRACE = timedelta(minutes=2)
_TAINT_RISK = "the taint keeps other Pods away on purpose: ask who runs these nodes"


@rule(cause="unschedulable", since="0.1")
def pod_unschedulable(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        for history in case.pods_of(symptom.ref):
            condition = _condition(history.pod)
            if condition is None:
                continue
            evidence, message = condition
            why = why_unschedulable(case, history.pod)
            explained.add(symptom.id)
            finding = Finding(
                about=symptom.ref,
                cause=_cause(message),
                explains=(symptom.id, *_pod_events(case, history.pod.ref)),
                because=(symptom.id,) if is_claim_unbound(message) else (),
                severity=_severity(case, history.pod, message),
                confidence=Confidence.HIGH,
                verdict=f"{history.pod.ref} is unschedulable: {why or _without_preemption(message)}",
                root=why or _without_preemption(message),
                evidence=(evidence,),
                fixes=tuple(_inspect(history.pod.ref, message)),
            )
            yield finding if is_claim_unbound(message) else with_revert(case, finding)
            break
    for report in case.failures(Unschedulable):
        if report.ref is None or not explained.isdisjoint(report.symptoms):
            continue
        if any(SymptomId.unhealthy(row.key) in explained for row in case.app.status.resources):
            continue
        hook = awaited_hook(case)
        if hook is not None and owning_row_of(case, report.ref) == hook:
            continue  # the sync waits for it: hook_stuck reports it
        yield Finding(
            about=report.ref,
            cause=_cause(report.failure.text),
            explains=report.symptoms,
            severity=_severity(
                case, case.live_named("Pod", report.ref.namespace, report.ref.name), report.failure.text
            ),
            confidence=Confidence.HIGH,
            verdict=f"{report.ref} is unschedulable: {_without_preemption(report.failure.text)}",
            root=report.failure.text.strip(),
            evidence=(report.cite(says="the scheduler's message"),),
            fixes=tuple(_inspect(report.ref, report.failure.text)),
        )


def _severity(case: Case, pod: Manifest | None, message: str) -> Severity:
    """WARNING for a Pod that waits for its claim: the claim is the cause.

    INFO in its first minutes, which is normal: a volume is being created, or an autoscaler adds a node.
    """
    age = age_at(case, pod, "/metadata/creationTimestamp")
    if age is not None and age < GRACE:
        return Severity.INFO
    return Severity.WARNING if is_claim_unbound(message) else Severity.CRITICAL


def _cause(message: str) -> str:
    """A claim that is not bound excludes every node, whatever else the scheduler lists."""
    return "pvc-pending" if is_claim_unbound(message) else ""


def _pod_events(case: Case, pod: Ref) -> Iterator[SymptomId]:
    """The scheduler's events about this Pod."""
    for report in case.failures(Unschedulable):
        if report.ref is not None and (report.ref.namespace, report.ref.name) == (pod.namespace, pod.name):
            yield from (id for id in report.symptoms if id in case.symptom_ids)


def _condition(pod: Manifest) -> tuple[Evidence, str] | None:
    for index, raw in enumerate(items(pod.status.get("conditions"))):
        condition = fields(raw)
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            message = text(condition.get("message")) or "the scheduler gives no reason"
            return cite(pod, f"/status/conditions/{index}", says="the scheduler's message"), message
    return None


def _without_preemption(message: str) -> str:
    """The scheduler's reason; why no other Pod can be preempted follows it and explains nothing."""
    return message.partition(" preemption: ")[0].strip().rstrip(".")


def _inspect(ref: Ref, message: str) -> Iterator[Fix]:
    """Each of the scheduler's reasons has its own remedy; one of them is enough for one node."""
    namespace = ref.namespace or "default"
    if _cause(message):
        yield Fix.run(
            kubectl("get", "pvc", namespace=namespace),
            kubectl("describe", "pvc", namespace=namespace),
            title="Find the claim that is Pending: its events show why no volume is bound",
        )
        return
    helps = remedies(_without_preemption(message)) or [
        "reduce requests, add nodes, or change the taint, selector or affinity that the scheduler names"
    ]
    for number, remedy in enumerate(helps):
        yield Fix.run(
            on_object("describe", ref) if ref.kind == "Pod" else kubectl("get", "pods", namespace=namespace),
            "kubectl describe nodes | grep -E -A8 '^Name:|^Taints:|^Allocated resources'",
            title=f"Or {remedy}" if number else f"{remedy[:1].upper()}{remedy[1:]}",
            risk=_TAINT_RISK if remedy.startswith("tolerate") else "",
        )

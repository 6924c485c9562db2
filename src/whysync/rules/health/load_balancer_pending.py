"""A Service waits for an address from a load balancer.

## What happens
A Service of type LoadBalancer is Progressing until a controller writes an address to its
`status.loadBalancer`. If no controller does that (a cluster without a load balancer, a cloud that refuses),
it stays Progressing forever, and the next sync wave never starts. The same applies to an Ingress of which
only the status is known.

## How whysync knows
The object is Progressing and its `status.loadBalancer` is empty; without the live object, Progressing alone
proves that for a Service. An event may contain the reason. Controllers that assign addresses write events
from the start: if there are none, no controller does it here.

## Fix
Install a controller that assigns addresses (MetalLB, the cloud's controller). If there will never be an
address: another Service type, or a custom health check in `argocd-cm`.

## When it is something else
This is normal in the first minutes after its creation. An Ingress whose class or controller is the cause is
ingress-pending.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import LoadBalancerFailed
from whysync.queries.commands import kubectl
from whysync.queries.timestamps import age_at

ADDRESS = "/status/loadBalancer"
TYPE = "/spec/type"
BALANCED = "LoadBalancer"
NO_CONTROLLER = "no controller has reported on it, so probably none assigns addresses in this cluster"
LATE = timedelta(minutes=5)
REMEMBERED = timedelta(minutes=55)


@rule(cause="lb-pending", since="0.1")
def load_balancer_pending(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = SymptomId.unhealthy(row.key)
        if symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        live = case.live_of(row.key)
        is_service = row.kind == "Service" and row.group == ""
        if not is_service:
            continue
        if live is None:
            yield _without_live_object(case, row, symptom)
            continue
        if live.at(f"{ADDRESS}/ingress"):
            continue
        reports = [r for r in case.failures(LoadBalancerFailed) if r.ref and r.ref.name == row.name]
        blocked = (OPERATION,) if case.operation and row.name in case.operation.message else ()
        declared = case.desired_of(row.key)
        if declared is not None and declared.at(TYPE) not in (BALANCED, live.at(TYPE)):
            continue  # Git no longer needs an address: a sync is enough
        why = reports[0].failure.text if reports else _why(case, live)
        yield Finding(
            about=row.ref,
            field=ADDRESS,
            explains=(symptom, *blocked, *(s for report in reports for s in report.symptoms)),
            severity=Severity.INFO if case.synced_recently else Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} has no address yet: "
            + (why or "no controller has written one to its status"),
            root=why or None,
            evidence=(
                case.cited_health(row, "Progressing"),
                cite(live, ADDRESS, says="empty"),
                *(report.cite(says="the reason in the event") for report in reports),
            ),
            fixes=(
                Fix.run(
                    kubectl("describe", row.kind.lower(), row.name, namespace=row.namespace or "default"),
                    title=_title(no_controller=bool(why) and not reports),
                ),
                *_cluster_ip(row.ref, declared),
            ),
        )


def _without_live_object(case: Case, row: ResourceRow, symptom: SymptomId) -> Finding:
    """Argo CD's health check has one reason for Progressing, so the row proves it without the object."""
    return Finding(
        about=row.ref,
        field=ADDRESS,
        explains=(symptom,),
        severity=Severity.INFO if case.synced_recently else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} has no address yet: Argo CD reports a Service as Progressing only while it waits "
        "for a load balancer",
        evidence=(case.cited_health(row, "Progressing"),),
        fixes=(
            Fix.run(
                kubectl("describe", "service", row.name, namespace=row.namespace or "default"),
                title="Find the controller that should assign the address",
            ),
        ),
    )


def _title(*, no_controller: bool) -> str:
    if no_controller:
        return "Install a controller that assigns addresses: the cloud's controller, or MetalLB"
    return "Find the controller that should assign the address"


def _why(case: Case, live: Manifest) -> str:
    """Events are kept for an hour: a Service of that age without any event has no controller."""
    age = age_at(case, live, "/metadata/creationTimestamp")
    if age is None or age < timedelta():  # clock skew, or unknown: use the age of the sync
        age = case.age(case.operation.started_at) if case.operation is not None else None
    young = age is not None and LATE <= age <= REMEMBERED
    silent = case.has(Fact.EVENTS) and not case.events_about(live.ref)
    return NO_CONTROLLER if young and silent else ""


def _cluster_ip(ref: Ref, declared: Manifest | None) -> Iterator[Fix]:
    if declared is not None and declared.at(TYPE) == BALANCED:
        yield Fix.change(
            ref,
            Set(pointer=TYPE, value="ClusterIP"),
            title="If it is only used inside the cluster: make it a ClusterIP Service in Git",
            risk="it is then reachable from outside only through an Ingress",
        )

"""A Service waits for an address from a load balancer.

## What happens
A Service of type LoadBalancer counts as Progressing until something writes an address into its
`status.loadBalancer`. Where no controller does that (a bare cluster, a cloud that refuses), it stays
Progressing for ever, and a wave behind it never starts. The same holds for an Ingress of which no more is
known than that it waits.

## How whysync knows
The object is Progressing and its `status.loadBalancer` is empty; without the live object, Progressing alone
proves that for a Service. An event may say why. Controllers that hand
out addresses say so in events from the first moment: where there are none, nobody does it here.

## Fix
Give the cluster something that hands out addresses (MetalLB, the cloud's controller). Where no address will
ever come: another Service type, or a health check of your own in `argocd-cm`.

## When it is something else
Minutes after its creation this is normal: clouds take their time. An Ingress whose class or controller is to
blame: ingress-pending.
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
from whysync.queries.resource_rows import row_evidence
from whysync.queries.timestamps import age_at

ADDRESS = "/status/loadBalancer"
TYPE = "/spec/type"
BALANCED = "LoadBalancer"
NOBODY = "no controller has taken note of it, as if nothing here handed out addresses"
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
        is_ingress = row.kind == "Ingress" and row.group in ("networking.k8s.io", "extensions")
        if is_service and live is None:
            yield _from_the_row(case, row, symptom)
        if not (is_service or is_ingress) or live is None or live.at(f"{ADDRESS}/ingress"):
            continue
        if is_ingress and live.spec:
            continue  # ingress_without_address knows more
        reports = [r for r in case.failures(LoadBalancerFailed) if r.ref and r.ref.name == row.name]
        blocked = (OPERATION,) if case.operation and row.name in case.operation.message else ()
        declared = case.desired_of(row.key)
        if is_service and declared is not None and declared.at(TYPE) not in (BALANCED, live.at(TYPE)):
            continue  # Git wants no address any more: what is left is to sync
        why = reports[0].failure.text if reports else _why(case, live)
        yield Finding(
            about=row.ref,
            field=ADDRESS,
            explains=(symptom, *blocked, *(s for report in reports for s in report.symptoms)),
            severity=Severity.INFO if case.synced_recently else Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} has no address yet: " + (why or "nothing has written one into its status"),
            root=why or None,
            evidence=(
                row_evidence(case, row, says="Argo CD waits for it"),
                cite(live, ADDRESS, says="empty"),
                *(report.cite(says="why, as the cluster tells") for report in reports),
            ),
            fixes=(
                Fix.run(
                    kubectl("describe", row.kind.lower(), row.name, namespace=row.namespace or "default"),
                    title=_look(is_service=is_service, nobody=bool(why) and not reports),
                ),
                *_inside(row.ref, declared, is_service=is_service),
            ),
        )


def _from_the_row(case: Case, row: ResourceRow, symptom: SymptomId) -> Finding:
    """Argo CD's check knows one reason for Progressing, so the row proves it without the object."""
    return Finding(
        about=row.ref,
        field=ADDRESS,
        explains=(symptom,),
        severity=Severity.INFO if case.synced_recently else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} has no address yet: Argo CD reports a Service as Progressing only while it waits "
        "for a load balancer",
        evidence=(row_evidence(case, row, says="Argo CD waits for it"),),
        fixes=(
            Fix.run(
                kubectl("describe", "service", row.name, namespace=row.namespace or "default"),
                title="See who should provide the address",
            ),
        ),
    )


def _look(*, is_service: bool, nobody: bool) -> str:
    if not is_service:
        return "Let the ingress controller publish its address into the status"
    if nobody:
        return "Install what hands out addresses here: the cloud's controller, or MetalLB"
    return "See who should hand out the address"


def _why(case: Case, live: Manifest) -> str:
    """Events last an hour: a young Service about which nobody has said anything has nobody."""
    age = age_at(case, live, "/metadata/creationTimestamp")
    if age is None or age < timedelta():  # the clocks differ, or nobody tells: as old as the sync, then
        age = case.age(case.operation.started_at) if case.operation is not None else None
    young = age is not None and LATE <= age <= REMEMBERED
    silent = case.has(Fact.EVENTS) and not case.events_about(live.ref)
    return NOBODY if young and silent else ""


def _inside(ref: Ref, declared: Manifest | None, *, is_service: bool) -> Iterator[Fix]:
    if is_service and declared is not None and declared.at(TYPE) == BALANCED:
        yield Fix.change(
            ref,
            Set(pointer=TYPE, value="ClusterIP"),
            title="If nobody outside the cluster needs it: make it a ClusterIP Service in Git",
            risk="it cannot be reached from outside any more, unless through an Ingress",
        )

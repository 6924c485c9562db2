"""A Service waits for an address from a load balancer.

## What happens
A Service of type LoadBalancer counts as Progressing until something writes an address into its
`status.loadBalancer`. Where no controller does that (a bare cluster, a cloud that refuses), it stays
Progressing for ever, and a wave behind it never starts. The same holds for an Ingress of which no more is
known than that it waits.

## How whysync knows
The object is Progressing and its `status.loadBalancer` is empty; an event may say why.

## Fix
Give the cluster something that hands out addresses (MetalLB, the cloud's controller). Where no address will
ever come: another Service type, or a health check of your own in `argocd-cm`.

## When it is something else
Minutes after its creation this is normal: clouds take their time. An Ingress whose class or controller is to
blame: ingress-pending.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import kubectl
from whysync.diagnosis.rows import row_evidence
from whysync.diagnosis.symptoms import health_of_row
from whysync.semantics.messages import LoadBalancerFailed

ADDRESS = "/status/loadBalancer"


@rule(cause="lb-pending", since="0.1")
def load_balancer_not_assigned(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = f"unhealthy:{row.key}"
        if symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        live = case.live_of(row.key)
        is_service = row.kind == "Service" and row.group == ""
        is_ingress = row.kind == "Ingress" and row.group in ("networking.k8s.io", "extensions")
        if not (is_service or is_ingress) or live is None or live.at(f"{ADDRESS}/ingress"):
            continue
        if is_ingress and live.spec:
            continue  # ingress_without_address knows more
        told = [r for r in case.failures(LoadBalancerFailed) if r.ref and r.ref.name == row.name]
        held_up = ("operation",) if case.operation and row.name in case.operation.message else ()
        yield Finding(
            about=row.ref,
            field=ADDRESS,
            explains=(symptom, *held_up, *(s for report in told for s in report.symptoms)),
            severity=Severity.INFO if case.synced_recently else Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} has no address yet: "
            + (told[0].failure.text if told else "nothing has written one into its status"),
            root=told[0].failure.text if told else None,
            evidence=(
                row_evidence(case, row, says="Argo CD waits for it"),
                cite(live, ADDRESS, says="empty"),
                *(report.cite(says="why, as the cluster tells") for report in told),
            ),
            fixes=(
                Fix.run(
                    kubectl("describe", row.kind.lower(), row.name, namespace=row.namespace or "default"),
                    title="See who should hand out the address"
                    if is_service
                    else "Let the ingress controller publish its address into the status",
                ),
            ),
        )

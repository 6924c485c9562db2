"""An Ingress waits for an address that no ingress controller writes.

## What happens
Argo CD reports an Ingress as Progressing until its controller writes an address to `status.loadBalancer`. If
no controller serves the Ingress (it has no class and none is the default, or no running controller serves its
class), or if the controller does not publish an address, it stays Progressing forever: the app never becomes
Healthy, and the next sync wave never starts.

## How whysync knows
The Ingress is Progressing and `status.loadBalancer` is empty. Without the live object, Progressing alone
proves that: Argo CD's health check has no other reason. Its class, the existing classes, and whether the
controller's own Service has an address are looked up if they are in the facts.

## Fix
Set a class that a running controller serves. If the controller serves it and already routes traffic, let it
publish its address (ingress-nginx `--publish-service`, Traefik `ingressEndpoint.publishedService`, NGINX Inc.
`reportIngressStatus`). If there will never be an address: a custom health check in `argocd-cm`.

## When it is something else
This is normal in the first minutes after a sync. A class that does not exist is dependency-missing. A Service
of type LoadBalancer that waits is lb-pending.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.pods import LoadBalancerFailed
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl
from whysync.queries.ingresses import ADDRESS, CLASS, why_no_address
from whysync.queries.references import is_absent, references_of


@rule(cause="ingress-pending", since="0.1")
def ingress_without_address(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        if row.kind != "Ingress" or row.group not in ("networking.k8s.io", "extensions"):
            continue
        symptom = SymptomId.unhealthy(row.key)
        live = case.live_of(row.key)
        if symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        if live is None or not (live.spec or _has_address(live)):
            yield _without_spec(case, row, symptom)
            continue
        if _has_address(live) or _class_is_missing(case, live):
            continue
        reports = [r for r in case.failures(LoadBalancerFailed) if r.ref and r.ref.name == row.name]
        blocked = (OPERATION,) if case.operation and row.name in case.operation.message else ()
        reason = why_no_address(case, row, live)
        events = [(m, e) for m, e in case.events_about(row.ref) if e.type == "Warning" and e.says]
        why = reports[0].failure.text if reports else events[-1][1].says if events else reason.text
        yield Finding(
            about=row.ref,
            field=ADDRESS,
            explains=(
                symptom,
                *blocked,
                *(s for report in reports for s in report.symptoms),
                *(id for m, _ in events if (id := _of_event(m)) in case.symptom_ids),
            ),
            because=reason.because,
            severity=Severity.INFO if case.synced_recently else Severity.WARNING,
            confidence=Confidence.HIGH if reports or events else reason.confidence,
            verdict=f"{row.ref} has no address: {why}",
            root=why,
            evidence=(
                case.cited_health(row, "Progressing"),
                cite(live, ADDRESS, says="empty"),
                *(cite(m, "/message", says="event of its controller") for m, _ in events[-1:] if not reports),
                *(report.cite(says="the reason in the event") for report in reports),
                *reason.evidence,
            ),
            fixes=reason.fixes,
            already_fixed=sync_again(
                case,
                "Git sets another class now",
                "Sync: Git sets another class",
                when=_has_new_class(case, row, live),
            ),
        )


def _without_spec(case: Case, row: ResourceRow, symptom: SymptomId) -> Finding:
    """Argo CD's health check has one reason for Progressing, so the row proves it without the object."""
    return Finding(
        about=row.ref,
        field=ADDRESS,
        explains=(symptom,),
        severity=Severity.INFO if case.synced_recently else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} has no address: Argo CD reports an Ingress as Progressing only while its "
        "status.loadBalancer is empty",
        evidence=(case.cited_health(row, "Progressing"),),
        fixes=(
            Fix.run(
                kubectl("describe", "ingress", row.name, namespace=row.namespace or "default"),
                title="Check its class, and whether its controller runs and publishes an address",
            ),
        ),
    )


def _of_event(event: Manifest) -> SymptomId:
    return SymptomId(SymptomKind.EVENT, detail=event.ref.place)


def _has_address(live: Manifest) -> bool:
    """Does it have an address? An empty entry, which some controllers write, does not count."""
    return any(fields(entry) for entry in items(live.at(f"{ADDRESS}/ingress")))


def _class_is_missing(case: Case, live: Manifest) -> bool:
    return any(is_absent(case, reference, "") for reference in references_of(live))


def _has_new_class(case: Case, row: ResourceRow, live: Manifest) -> bool:
    desired = case.desired_of(row.key)
    return desired is not None and bool(desired.at(CLASS)) and desired.at(CLASS) != live.at(CLASS)

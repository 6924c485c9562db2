"""An Ingress waits for an address that no ingress controller writes.

## What happens
Argo CD calls an Ingress Progressing until its controller writes an address into `status.loadBalancer`.
Where no controller serves the Ingress (it names no class and none is the default, or the class belongs to
nobody that runs), or where the controller does not publish an address, it stays Progressing for ever: the app
never gets Healthy, and a sync wave behind it never starts.

## How whysync knows
The Ingress is Progressing and `status.loadBalancer` is empty. Without the live object, Progressing alone
proves that: Argo CD's health check knows no other reason. Which class it names, which classes there are, and
whether the controller's own Service has an address are looked up where the facts have them.

## Fix
Name a class that a running controller serves. If the controller serves it and routes traffic already, let it
publish its address (ingress-nginx `--publish-service`, Traefik `ingressEndpoint.publishedService`, NGINX Inc.
`reportIngressStatus`). Where no address will ever come: a health check of your own in `argocd-cm`.

## When it is something else
Minutes after a sync this is normal. The class is named and does not exist: dependency-missing. A Service of
type LoadBalancer waits: lb-pending.
"""

from collections.abc import Iterator

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.pods import LoadBalancerFailed
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, on_object, with_comment
from whysync.queries.references import is_absent, references_of
from whysync.queries.resource_rows import row_evidence

ADDRESS = "/status/loadBalancer"
CLASS = "/spec/ingressClassName"
OLD_CLASS = "/metadata/annotations/kubernetes.io~1ingress.class"
DEFAULT = "/metadata/annotations/ingressclass.kubernetes.io~1is-default-class"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why no address comes, as far as the cluster tells; `because` names what is wrong with somebody else."""

    words: str
    confidence: Confidence = Confidence.MEDIUM
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    because: tuple[SymptomId, ...] = ()


@rule(cause="ingress-pending", since="0.1")
def ingress_without_address(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        if row.kind != "Ingress" or row.group not in ("networking.k8s.io", "extensions"):
            continue
        symptom = SymptomId.unhealthy(row.key)
        live = case.live_of(row.key)
        if symptom not in case.symptom_ids or health_of_row(case, row)[0] != "Progressing":
            continue
        if live is None:
            yield _from_the_row(case, row, symptom)
            continue
        if not live.spec or _has_address(live) or _lacks_its_class(case, live):
            continue
        reports = [r for r in case.failures(LoadBalancerFailed) if r.ref and r.ref.name == row.name]
        held_up = (OPERATION,) if case.operation and row.name in case.operation.message else ()
        reason = _reason(case, row, live)
        words = reports[0].failure.text if reports else reason.words
        yield Finding(
            about=row.ref,
            field=ADDRESS,
            explains=(symptom, *held_up, *(s for report in reports for s in report.symptoms)),
            because=reason.because,
            severity=Severity.INFO if case.synced_recently else Severity.WARNING,
            confidence=Confidence.HIGH if reports else reason.confidence,
            verdict=f"{row.ref} has no address: {words}",
            root=words,
            evidence=(
                row_evidence(case, row, says="Argo CD waits for it"),
                cite(live, ADDRESS, says="empty"),
                *(report.cite(says="why, as the cluster tells") for report in reports),
                *reason.evidence,
            ),
            fixes=reason.fixes,
            already_fixed=sync_again(
                case,
                _has_new_class(case, row, live),
                "Git names another class now",
                "Sync: apply the new class",
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
        verdict=f"{row.ref} has no address: Argo CD reports an Ingress as Progressing only while its "
        "status.loadBalancer is empty",
        evidence=(row_evidence(case, row, says="Argo CD waits for it"),),
        fixes=(
            Fix.run(
                kubectl("describe", "ingress", row.name, namespace=row.namespace or "default"),
                title="Check its class, and whether the controller of it runs and publishes an address",
            ),
        ),
    )


def _has_address(live: Manifest) -> bool:
    """Some controllers write one entry without anything in it; old versions of Argo CD wait on, then."""
    return any(fields(one) for one in items(live.at(f"{ADDRESS}/ingress")))


def _lacks_its_class(case: Case, live: Manifest) -> bool:
    return any(is_absent(case, reference, "") for reference in references_of(live))


def _has_new_class(case: Case, row: ResourceRow, live: Manifest) -> bool:
    desired = case.desired_of(row.key)
    return desired is not None and bool(desired.at(CLASS)) and desired.at(CLASS) != live.at(CLASS)


def _reason(case: Case, row: ResourceRow, live: Manifest) -> Reason:
    name = text(live.at(CLASS)) or text(live.at(OLD_CLASS))
    if not name:
        return _classless(case, row, live)
    pointer = CLASS if live.at(CLASS) else OLD_CLASS
    named = cite(live, pointer, says="the class whose controller should serve it")
    ingress_class = case.live_named("IngressClass", "", name)
    controller = text(ingress_class.at("/spec/controller")) if ingress_class is not None else ""
    service = _front_of(case, controller or name)
    if service is not None:
        return Reason(
            words=f"{service.ref}, through which its controller takes traffic, has no address itself",
            evidence=(named, cite(service, ADDRESS, says="the controller's own address is pending")),
            fixes=(Fix.run(on_object("describe", service.ref), title="Get that Service its address first"),),
            because=symptoms_about(case, service.ref),
        )
    who = f"the controller of class {name}" + (f" ({controller})" if controller else "")
    return Reason(
        words=f"{who} has written none; it does not run, does not serve it, or does not publish one",
        evidence=(
            named,
            *((cite(ingress_class, "/spec/controller", says="who serves it"),) if ingress_class else ()),
        ),
        fixes=(
            Fix.run(
                on_object("describe", row.ref),
                with_comment(kubectl("get", "pods", "-A"), f"does {who} run?"),
                title="See whether its controller runs, and let it publish its address into the status",
            ),
        ),
    )


def _classless(case: Case, row: ResourceRow, live: Manifest) -> Reason:
    classes = case.live_of_kind("IngressClass")
    default = next((manifest for manifest in classes if text(manifest.at(DEFAULT)) == "true"), None)
    nobody = bool(classes) and default is None
    declared = case.desired_of(row.key)
    only = classes[0].ref.name if len(classes) == 1 else ""
    looked = Fix.run(
        kubectl("get", "ingressclass"),
        title="See which classes there are, and name one in Git (ingressClassName)",
    )
    named = (
        Fix.change(row.ref, Set(pointer=CLASS, value=only), title=f"Name the class in Git: {only}")
        if only and nobody and declared is not None
        else looked
    )
    words = "it names no class, and no IngressClass is the default, so no controller serves it"
    if not nobody:
        words = (
            "it names no class, and no controller has written one; often none takes Ingresses without a class"
        )
    return Reason(
        words=words,
        confidence=Confidence.HIGH if nobody else Confidence.MEDIUM,
        evidence=(
            cite(live, "/spec", says="no ingressClassName"),
            *(
                cite(manifest, "/metadata/name", says="a class, and not the default")
                for manifest in classes[:3]
                if nobody
            ),
        ),
        fixes=(named,),
    )


def _front_of(case: Case, controller: str) -> Manifest | None:
    """A Service of type LoadBalancer that waits too, and bears the name of the controller's product."""
    product = controller.rpartition("/")[2].removesuffix("-controller")
    words = {word for word in (product, controller.partition("/")[0].partition(".")[0]) if len(word) > 3}
    for service in case.live_of_kind("Service"):
        if service.spec.get("type") != "LoadBalancer" or service.at(f"{ADDRESS}/ingress"):
            continue
        labels = (text(service.at("/metadata/labels/app.kubernetes.io~1name")), service.ref.name)
        if any(word in label for word in words for label in labels if label):
            return service
    return None

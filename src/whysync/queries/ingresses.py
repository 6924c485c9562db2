"""Why an Ingress has no address: its class, the controller of that class, or the controller's own Service."""

from __future__ import annotations

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Evidence, Fix, Set, cite, cite_if
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import kubectl, on_object, with_comment

ADDRESS = "/status/loadBalancer"
CLASS = "/spec/ingressClassName"
_CLASS_ANNOTATION = "/metadata/annotations/kubernetes.io~1ingress.class"
_IS_DEFAULT_CLASS = "/metadata/annotations/ingressclass.kubernetes.io~1is-default-class"


class NoAddressReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why an Ingress has no address; `because` are the symptoms of the object that causes it."""

    text: str
    confidence: Confidence = Confidence.MEDIUM
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    because: tuple[SymptomId, ...] = ()


def why_no_address(case: Case, row: ResourceRow, live: Manifest) -> NoAddressReason:
    name = text(live.at(CLASS)) or text(live.at(_CLASS_ANNOTATION))
    if not name:
        return _without_class(case, row, live)
    pointer = CLASS if live.at(CLASS) else _CLASS_ANNOTATION
    named = cite(live, pointer, says="its class")
    ingress_class = case.live_named("IngressClass", "", name)
    controller = text(ingress_class.at("/spec/controller")) if ingress_class is not None else ""
    service = _pending_service_of(case, controller or name)
    if service is not None:
        return NoAddressReason(
            text=f"{service.ref}, the Service of its controller, has no address itself",
            evidence=(named, cite(service, ADDRESS, says="the controller's Service has no address")),
            fixes=(
                Fix.run(on_object("describe", service.ref), title="Get an address for that Service first"),
            ),
            because=symptoms_about(case, service.ref),
        )
    who = f"the controller of class {name}" + (f" ({controller})" if controller else "")
    return NoAddressReason(
        text=f"{who} has not written an address; it does not run, does not serve it, or does not publish any",
        evidence=(
            named,
            *cite_if(ingress_class, "/spec/controller", says="the controller of the class"),
        ),
        fixes=(
            Fix.run(
                on_object("describe", row.ref),
                with_comment(kubectl("get", "pods", "-A"), f"does {who} run?"),
                title="Check that its controller runs, and let it publish its address to the status",
            ),
        ),
    )


def _without_class(case: Case, row: ResourceRow, live: Manifest) -> NoAddressReason:
    classes = case.live_of_kind("IngressClass")
    default = next((manifest for manifest in classes if text(manifest.at(_IS_DEFAULT_CLASS)) == "true"), None)
    none_is_default = bool(classes) and default is None
    declared = case.desired_of(row.key)
    only = classes[0].ref.name if len(classes) == 1 else ""
    looked = Fix.run(
        kubectl("get", "ingressclass"),
        title="List the classes, and set one in Git (ingressClassName)",
    )
    named = (
        Fix.change(row.ref, Set(pointer=CLASS, value=only), title=f"Set the class in Git: {only}")
        if only and none_is_default and declared is not None
        else looked
    )
    reason = "it has no class, and no IngressClass is the default, so no controller serves it"
    if not none_is_default:
        reason = (
            "it has no class, and no controller has written an address; most ignore Ingresses without a class"
        )
    return NoAddressReason(
        text=reason,
        confidence=Confidence.HIGH if none_is_default else Confidence.MEDIUM,
        evidence=(
            cite(live, "/spec", says="no ingressClassName"),
            *(
                cite(manifest, "/metadata/name", says="a class that is not the default")
                for manifest in classes[:3]
                if none_is_default
            ),
        ),
        fixes=(named,),
    )


def _pending_service_of(case: Case, controller: str) -> Manifest | None:
    """A LoadBalancer Service without an address whose name or label matches the controller."""
    product = controller.rpartition("/")[2].removesuffix("-controller")
    words = {word for word in (product, controller.partition("/")[0].partition(".")[0]) if len(word) > 3}
    for service in case.live_of_kind("Service"):
        if service.spec.get("type") != "LoadBalancer" or service.at(f"{ADDRESS}/ingress"):
            continue
        labels = (text(service.at("/metadata/labels/app.kubernetes.io~1name")), service.ref.name)
        if any(word in label for word in words for label in labels if label):
            return service
    return None

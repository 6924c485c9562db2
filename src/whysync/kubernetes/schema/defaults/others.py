"""Defaults of what does not run Pods: Services, storage, access, policies, webhooks, and the small ones."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.schema.defaults.registry import fill, fills, own

_RBAC: Final = "rbac.authorization.k8s.io"


@fills("core/v1.Service")
def service(obj: Object) -> None:
    spec = own(obj, "spec")
    fill(spec, sessionAffinity="None", type="ClusterIP")
    affinity, kind = spec["sessionAffinity"], spec["type"]
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = fields(fields(spec.get("sessionAffinityConfig")).get("clientIP"))
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    if isinstance(spec.get("ports"), list):
        spec["ports"] = [_service_port(port) for port in items(spec["ports"])]
    if _is_reachable_from_outside(spec):
        fill(spec, externalTrafficPolicy="Cluster")
    if kind in {"NodePort", "LoadBalancer", "ClusterIP"}:
        fill(spec, internalTrafficPolicy="Cluster")
    if kind == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
        _mark_addresses(obj)


def _service_port(port: Json) -> Json:
    new = dict(fields(port))
    fill(new, protocol="TCP")
    if new.get("targetPort") in (None, "", 0):
        new["targetPort"] = new.get("port")
    return new


def _is_reachable_from_outside(spec: Object) -> bool:
    return spec["type"] in {"LoadBalancer", "NodePort"} or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def _mark_addresses(obj: Object) -> None:
    balancer = fields(fields(obj.get("status")).get("loadBalancer"))
    if balancer.get("ingress"):
        ingress: list[Json] = [
            {"ipMode": "VIP", **fields(item)} if fields(item).get("ip") else item
            for item in items(balancer["ingress"])
        ]
        own(obj, "status")["loadBalancer"] = {**balancer, "ingress": ingress}


@fills("core/v1.Secret")
def secret(obj: Object) -> None:
    fill(obj, type="Opaque")


@fills("core/v1.EndpointPort")
def endpoint_port(obj: Object) -> None:
    fill(obj, protocol="TCP")


@fills("core/v1.Namespace")
def namespace(obj: Object) -> None:
    name = text(fields(obj.get("metadata")).get("name"))
    if name:
        own(own(obj, "metadata"), "labels")["kubernetes.io/metadata.name"] = name


@fills("core/v1.NamespaceStatus")
def namespace_status(obj: Object) -> None:
    fill(obj, phase="Active")


@fills("core/v1.NodeStatus")
def node_status(obj: Object) -> None:
    if obj.get("allocatable") is None and isinstance(obj.get("capacity"), dict):
        obj["allocatable"] = dict(fields(obj["capacity"]))


@fills("core/v1.LimitRangeItem")
def limit_range_item(obj: Object) -> None:
    if obj.get("type") != "Container":
        return
    default = {**fields(obj.get("max")), **fields(obj.get("default"))}
    request = {**fields(obj.get("min")), **default, **fields(obj.get("defaultRequest"))}
    if default:
        obj["default"] = default
    if request:
        obj["defaultRequest"] = request


@fills("networking/v1.NetworkPolicyPort", "extensions/v1beta1.NetworkPolicyPort")
def network_policy_port(obj: Object) -> None:
    fill(obj, protocol="TCP")


@fills("networking/v1.NetworkPolicy", "extensions/v1beta1.NetworkPolicy")
def network_policy(obj: Object) -> None:
    spec = own(obj, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


@fills("networking/v1.IngressClassParametersReference")
def ingress_class_parameters(obj: Object) -> None:
    fill(obj, scope="Cluster")


@fills("networking/v1beta1.HTTPIngressPath", "extensions/v1beta1.HTTPIngressPath")
def ingress_path(obj: Object) -> None:
    fill(obj, pathType="ImplementationSpecific")


@fills("rbac/v1.RoleRef", "rbac/v1beta1.RoleRef", "rbac/v1alpha1.RoleRef")
def role_ref(obj: Object) -> None:
    fill(obj, apiGroup=_RBAC)


@fills("rbac/v1.Subject", "rbac/v1beta1.Subject")
def subject(obj: Object) -> None:
    if obj.get("kind") in {"User", "Group"}:
        fill(obj, apiGroup=_RBAC)


@fills("storage/v1.StorageClass", "storage/v1beta1.StorageClass")
def storage_class(obj: Object) -> None:
    fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


@fills("storage/v1.CSIDriverSpec", "storage/v1beta1.CSIDriverSpec")
def csi_driver(obj: Object) -> None:
    fill(
        obj,
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        requiresRepublish=False,
        seLinuxMount=False,
    )
    if not obj.get("volumeLifecycleModes"):
        obj["volumeLifecycleModes"] = ["Persistent"]


@fills("admissionregistration/v1.ValidatingWebhook")
def validating_webhook(obj: Object) -> None:
    fill(
        obj,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )


@fills("admissionregistration/v1.MutatingWebhook")
def mutating_webhook(obj: Object) -> None:
    validating_webhook(obj)
    fill(obj, reinvocationPolicy="Never")


@fills("admissionregistration/v1beta1.ValidatingWebhook")
def old_validating_webhook(obj: Object) -> None:
    fill(
        obj,
        failurePolicy="Ignore",
        matchPolicy="Exact",
        namespaceSelector={},
        objectSelector={},
        sideEffects="Unknown",
        timeoutSeconds=30,
    )
    if not obj.get("admissionReviewVersions"):
        obj["admissionReviewVersions"] = ["v1beta1"]


@fills("admissionregistration/v1beta1.MutatingWebhook")
def old_mutating_webhook(obj: Object) -> None:
    old_validating_webhook(obj)
    fill(obj, reinvocationPolicy="Never")


@fills("admissionregistration/v1.RuleWithOperations", "admissionregistration/v1.NamedRuleWithOperations")
def webhook_rule(obj: Object) -> None:
    fill(obj, scope="*")


@fills("admissionregistration/v1.ServiceReference", "admissionregistration/v1beta1.ServiceReference")
def webhook_service(obj: Object) -> None:
    fill(obj, port=443)


@fills(
    "admissionregistration/v1.ValidatingAdmissionPolicySpec",
    "admissionregistration/v1.MutatingAdmissionPolicySpec",
    "admissionregistration/v1beta1.ValidatingAdmissionPolicySpec",
    "admissionregistration/v1beta1.MutatingAdmissionPolicySpec",
)
def admission_policy(obj: Object) -> None:
    fill(obj, failurePolicy="Fail")


@fills(
    "admissionregistration/v1.MatchResources",
    "admissionregistration/v1beta1.MatchResources",
    "admissionregistration/v1alpha1.MatchResources",
)
def match_resources(obj: Object) -> None:
    fill(obj, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})


@fills("discovery/v1.EndpointPort", "discovery/v1beta1.EndpointPort")
def slice_port(obj: Object) -> None:
    if obj.get("name") is None:
        obj["name"] = ""
    fill(obj, protocol="TCP")


@fills("flowcontrol/v1.FlowSchemaSpec", "flowcontrol/v1beta3.FlowSchemaSpec")
def flow_schema(obj: Object) -> None:
    if not obj.get("matchingPrecedence"):
        obj["matchingPrecedence"] = 1000


@fills(
    "flowcontrol/v1.ExemptPriorityLevelConfiguration", "flowcontrol/v1beta3.ExemptPriorityLevelConfiguration"
)
def exempt_level(obj: Object) -> None:
    fill(obj, nominalConcurrencyShares=0, lendablePercent=0)


@fills(
    "flowcontrol/v1.LimitedPriorityLevelConfiguration",
    "flowcontrol/v1beta3.LimitedPriorityLevelConfiguration",
)
def limited_level(obj: Object) -> None:
    fill(obj, nominalConcurrencyShares=30, lendablePercent=0)


@fills("flowcontrol/v1.QueuingConfiguration", "flowcontrol/v1beta3.QueuingConfiguration")
def queuing(obj: Object) -> None:
    for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
        if not obj.get(key):
            obj[key] = value


@fills("scheduling/v1.PriorityClass", "scheduling/v1beta1.PriorityClass")
def priority_class(obj: Object) -> None:
    fill(obj, preemptionPolicy="PreemptLowerPriority")

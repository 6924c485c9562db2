"""The kinds that a Kubernetes 1.36 API server serves by default."""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

# Kind, plural and marks: n namespaced, s status subresource, g metadata.generation, c scale subresource,
# r a review, which is not stored; the simulated API server does not serve it.
_TABLE: Final = {
    "v1": """
        ConfigMap configmaps n|Endpoints endpoints n|Event events n|LimitRange limitranges n
        Namespace namespaces s|Node nodes s|PersistentVolume persistentvolumes s
        PersistentVolumeClaim persistentvolumeclaims ns|Pod pods nsg|PodTemplate podtemplates ng
        ReplicationController replicationcontrollers nsgc|ResourceQuota resourcequotas ns|Secret secrets n
        Service services ns|ServiceAccount serviceaccounts n""",
    "admissionregistration.k8s.io/v1": """
        MutatingAdmissionPolicy mutatingadmissionpolicies g
        MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings g
        MutatingWebhookConfiguration mutatingwebhookconfigurations g
        ValidatingAdmissionPolicy validatingadmissionpolicies sg
        ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings g
        ValidatingWebhookConfiguration validatingwebhookconfigurations g""",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition customresourcedefinitions sg",
    "apiregistration.k8s.io/v1": "APIService apiservices s",
    "apps/v1": """
        ControllerRevision controllerrevisions n|DaemonSet daemonsets nsg|Deployment deployments nsgc
        ReplicaSet replicasets nsgc|StatefulSet statefulsets nsgc""",
    "authentication.k8s.io/v1": "TokenReview tokenreviews r|SelfSubjectReview selfsubjectreviews r",
    "authorization.k8s.io/v1": """
        LocalSubjectAccessReview localsubjectaccessreviews nr|SubjectAccessReview subjectaccessreviews r
        SelfSubjectAccessReview selfsubjectaccessreviews r
        SelfSubjectRulesReview selfsubjectrulesreviews r""",
    "autoscaling/v1": "HorizontalPodAutoscaler horizontalpodautoscalers ns",
    "autoscaling/v2": "HorizontalPodAutoscaler horizontalpodautoscalers ns",
    "batch/v1": "CronJob cronjobs nsg|Job jobs nsg",
    "certificates.k8s.io/v1": "CertificateSigningRequest certificatesigningrequests s",
    "coordination.k8s.io/v1": "Lease leases n",
    "discovery.k8s.io/v1": "EndpointSlice endpointslices ng",
    "events.k8s.io/v1": "Event events n",
    "flowcontrol.apiserver.k8s.io/v1": """
        FlowSchema flowschemas sg|PriorityLevelConfiguration prioritylevelconfigurations sg""",
    "networking.k8s.io/v1": """
        IPAddress ipaddresses|Ingress ingresses nsg|IngressClass ingressclasses g
        NetworkPolicy networkpolicies ng|ServiceCIDR servicecidrs s""",
    "node.k8s.io/v1": "RuntimeClass runtimeclasses",
    "policy/v1": "PodDisruptionBudget poddisruptionbudgets nsg",
    "rbac.authorization.k8s.io/v1": """
        ClusterRole clusterroles|ClusterRoleBinding clusterrolebindings|Role roles n
        RoleBinding rolebindings n""",
    "resource.k8s.io/v1": """
        DeviceClass deviceclasses g|ResourceClaim resourceclaims ns|ResourceSlice resourceslices g
        ResourceClaimTemplate resourceclaimtemplates n""",
    "scheduling.k8s.io/v1": "PriorityClass priorityclasses g",
    "storage.k8s.io/v1": """
        CSIDriver csidrivers|CSINode csinodes|CSIStorageCapacity csistoragecapacities n
        StorageClass storageclasses|VolumeAttachment volumeattachments s
        VolumeAttributesClass volumeattributesclasses""",
}


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind as one version of one API group serves it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    namespaced: bool = False
    status: bool = False
    counted: bool = False
    """Does it have a `metadata.generation`?"""
    scale: bool = False
    kept: bool = True
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def store(self) -> tuple[str, str]:
        """The storage key that all versions of the kind share."""
        return ("", self.plural) if self.group == "events.k8s.io" else (self.group, self.plural)


@cache
def built_in() -> dict[tuple[str, str], Resource]:
    """By `apiVersion` and plural."""
    resources: dict[tuple[str, str], Resource] = {}
    for api_version, lines in _TABLE.items():
        group, _, version = api_version.rpartition("/")
        for entry in lines.replace("\n", "|").split("|"):
            if not entry.strip():
                continue
            kind, plural, *rest = entry.split()
            marks = rest[0] if rest else ""
            resources[api_version, plural] = Resource(
                group=group,
                version=version,
                kind=kind,
                plural=plural,
                singular=kind.lower(),
                namespaced="n" in marks,
                status="s" in marks,
                counted="g" in marks,
                scale="c" in marks,
                kept="r" not in marks,
            )
    return resources

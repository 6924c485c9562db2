"""Has a kind a namespace? From its live CRD, and for Kubernetes' own kinds from a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_CLUSTER_SCOPED = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "FlowSchema",
        "GatewayClass",
        "IngressClass",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PodSecurityPolicy",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "RuntimeClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeSnapshotClass",
    }
)


def is_namespaced(case: Case, kind: str) -> bool:
    for crd in case.world.snapshot.live:
        if crd.ref.kind == "CustomResourceDefinition" and crd.at("/spec/names/kind") == kind:
            return crd.at("/spec/scope") != "Cluster"
    return kind not in _CLUSTER_SCOPED

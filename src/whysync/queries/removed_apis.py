"""API versions of built-in kinds that Kubernetes removed, and the release that removed them."""

from __future__ import annotations

from whysync.argocd.api.application import ResourceRow
from whysync.kubernetes.schema.releases import BASE, versions_in

# From the deprecation guide of Kubernetes: https://kubernetes.io/docs/reference/using-api/deprecation-guide/
_REMOVED: dict[str, dict[str, str]] = {
    "extensions/v1beta1": {
        "DaemonSet": "1.16",
        "Deployment": "1.16",
        "Ingress": "1.22",
        "NetworkPolicy": "1.16",
        "PodSecurityPolicy": "1.16",
        "ReplicaSet": "1.16",
    },
    "apps/v1beta1": {"*": "1.16"},
    "apps/v1beta2": {"*": "1.16"},
    "admissionregistration.k8s.io/v1beta1": {
        "MutatingWebhookConfiguration": "1.22",
        "ValidatingWebhookConfiguration": "1.22",
    },
    "apiextensions.k8s.io/v1beta1": {"*": "1.22"},
    "apiregistration.k8s.io/v1beta1": {"*": "1.22"},
    "authentication.k8s.io/v1beta1": {"TokenReview": "1.22"},
    "authorization.k8s.io/v1beta1": {"*": "1.22"},
    "certificates.k8s.io/v1beta1": {"CertificateSigningRequest": "1.22"},
    "coordination.k8s.io/v1beta1": {"Lease": "1.22"},
    "networking.k8s.io/v1beta1": {"Ingress": "1.22", "IngressClass": "1.22"},
    "rbac.authorization.k8s.io/v1beta1": {"*": "1.22"},
    "rbac.authorization.k8s.io/v1alpha1": {"*": "1.22"},
    "scheduling.k8s.io/v1beta1": {"PriorityClass": "1.22"},
    "storage.k8s.io/v1beta1": {
        "CSIDriver": "1.22",
        "CSINode": "1.22",
        "StorageClass": "1.22",
        "VolumeAttachment": "1.22",
        "CSIStorageCapacity": "1.27",
    },
    "batch/v1beta1": {"CronJob": "1.25"},
    "discovery.k8s.io/v1beta1": {"EndpointSlice": "1.25"},
    "events.k8s.io/v1beta1": {"Event": "1.25"},
    "autoscaling/v2beta1": {"*": "1.25"},
    "autoscaling/v2beta2": {"*": "1.26"},
    "policy/v1beta1": {"PodDisruptionBudget": "1.25", "PodSecurityPolicy": "1.25"},
    "node.k8s.io/v1beta1": {"RuntimeClass": "1.25"},
    "flowcontrol.apiserver.k8s.io/v1beta1": {"*": "1.26"},
    "flowcontrol.apiserver.k8s.io/v1beta2": {"*": "1.29"},
    "flowcontrol.apiserver.k8s.io/v1beta3": {"*": "1.32"},
}


def removal_of(api_version: str, kind: str) -> str | None:
    """The Kubernetes release that removed it; `None` if none did."""
    kinds = _REMOVED.get(api_version, {})
    return kinds.get(kind) or kinds.get("*")


def removal_of_row(row: ResourceRow) -> str | None:
    """The same for the API version of a row, which is the one that Git declares."""
    # The group `extensions` had no other version, and nothing is left of it.
    version = "v1beta1" if row.group == "extensions" else row.version
    return removal_of(f"{row.group}/{version}", row.kind)


def is_kind_of_kubernetes(group: str, kind: str) -> bool:
    """Does Kubernetes itself have or had the kind? Then no CRD defines it."""
    removed = (kinds for version, kinds in _REMOVED.items() if version.rpartition("/")[0] == group)
    return bool(versions_in(group, kind, BASE)) or any(kind in kinds for kinds in removed)


def replacement_of(api_version: str, kind: str, release: int = BASE) -> str:
    """The most stable other version in which that release serves the kind; empty if there is none."""
    group = api_version.rpartition("/")[0]
    versions = [version for version in versions_in(group, kind, release) if version != api_version]
    if not versions and group == "extensions":  # its kinds moved to other groups
        versions = [
            version for to in ("apps", "networking.k8s.io") for version in versions_in(to, kind, release)
        ]
    return max(versions, key=_stability, default="")


def _stability(api_version: str) -> tuple[bool, bool, str]:
    return "alpha" not in api_version, "beta" not in api_version, api_version

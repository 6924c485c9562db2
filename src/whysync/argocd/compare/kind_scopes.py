"""Scopes of kinds (namespaced or cluster-scoped), which Argo CD reads from discovery.

The scope of a custom resource is taken from its CustomResourceDefinition, or from a live object. Unknown
scopes are `None`: Argo CD treats an unknown kind in Git as namespaced, and one in a project's lists as
cluster-scoped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.schema import kinds

_CLUSTER_SCOPED: Final = {
    "": ("ComponentStatus", "Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "authentication.k8s.io": ("SelfSubjectReview", "TokenReview"),
    "authorization.k8s.io": ("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"),
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "extensions": ("PodSecurityPolicy",),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "internal.apiserver.k8s.io": ("StorageVersion",),
    "networking.k8s.io": ("IPAddress", "IngressClass", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "policy": ("PodSecurityPolicy",),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io": ("DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": (
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
    "storagemigration.k8s.io": ("StorageVersionMigration",),
}
_CLUSTER_SCOPED_CUSTOM: Final = frozenset(
    {
        "ClusterExternalSecret",
        "ClusterIssuer",
        "ClusterPolicy",
        "ClusterSecretStore",
        "GatewayClass",
        "VolumeGroupSnapshotClass",
        "VolumeSnapshotClass",
        "VolumeSnapshotContent",
    }
)
"""Well-known kinds of other groups, for texts that name no group."""
_CRD_GROUP, _CRD = "apiextensions.k8s.io", "CustomResourceDefinition"


class Scopes:
    """`known` overrides the built-in table; `otherwise` is the scope of all other kinds."""

    __slots__ = ("_known", "_otherwise")

    def __init__(
        self, known: Mapping[tuple[str, str], bool] | None = None, *, otherwise: bool | None = None
    ) -> None:
        self._known = dict(known or {})
        self._otherwise = otherwise

    @classmethod
    def from_objects(cls, objects: Iterable[Object]) -> Scopes:
        """From live objects: from CRDs, or else from the namespace of the objects."""
        defined: dict[tuple[str, str], bool] = {}
        observed: dict[tuple[str, str], bool] = {}
        for body in objects:
            group, kind = group_of(text(body.get("apiVersion"))), text(body.get("kind"))
            if group == _CRD_GROUP and kind == _CRD:
                names = fields(dig(body, "spec", "names"))
                scope = text(dig(body, "spec", "scope"))
                if scope:
                    key = text(dig(body, "spec", "group")), text(names.get("kind"))
                    defined[key] = scope != "Cluster"
            elif _builtin(group, kind) is None:
                # One object with a namespace is enough; handwritten objects may lack theirs.
                has_namespace = bool(fields(body.get("metadata")).get("namespace"))
                observed[group, kind] = observed.get((group, kind), False) or has_namespace
        return cls(observed | defined)

    def is_namespaced(self, group: str, kind: str) -> bool | None:
        """`None` if the scope is unknown."""
        namespaced = self._known.get((group, kind))
        if namespaced is None:
            namespaced = _builtin(group, kind)
        return self._otherwise if namespaced is None else namespaced


def is_cluster_scoped_kind(kind: str) -> bool:
    """Is a kind of this name cluster-scoped? For texts and references that name no group."""
    return kind in _CLUSTER_SCOPED_CUSTOM or any(kind in names for names in _CLUSTER_SCOPED.values())


def _builtin(group: str, kind: str) -> bool | None:
    if kind in _CLUSTER_SCOPED.get(group, ()):
        return False
    return True if kind in _namespaced_kinds().get(group, ()) else None


@cache
def _namespaced_kinds() -> dict[str, frozenset[str]]:
    """All built-in kinds that are not in the table above, by group."""
    kinds_by_group: dict[str, frozenset[str]] = {}
    for api_version, served in kinds().items():
        group = group_of(api_version)
        kinds_by_group[group] = kinds_by_group.get(group, frozenset()) | (
            served - set(_CLUSTER_SCOPED.get(group, ()))
        )
    return kinds_by_group

"""Which kinds live in namespaces: what Argo CD asks the API server's discovery.

Built-in kinds are known; custom ones tell through their CustomResourceDefinition, or through a live object.
What nobody knows stays unknown (`None`), and Argo CD has an answer for that too: it takes an unknown kind
of Git's for namespaced, and an unknown kind in a project's lists for cluster-scoped.
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
_CRD_GROUP, _CRD = "apiextensions.k8s.io", "CustomResourceDefinition"


class Scopes:
    """`known` overrules the built-in table, and `otherwise` answers for what neither has."""

    __slots__ = ("_known", "_otherwise")

    def __init__(
        self, known: Mapping[tuple[str, str], bool] | None = None, *, otherwise: bool | None = None
    ) -> None:
        self._known = dict(known or {})
        self._otherwise = otherwise

    @classmethod
    def from_objects(cls, objects: Iterable[Object]) -> Scopes:
        """Learn from live objects: their definitions first, then where the objects themselves are."""
        defined: dict[tuple[str, str], bool] = {}
        seen: dict[tuple[str, str], bool] = {}
        for body in objects:
            group, kind = group_of(text(body.get("apiVersion"))), text(body.get("kind"))
            if group == _CRD_GROUP and kind == _CRD:
                names = fields(dig(body, "spec", "names"))
                scope = text(dig(body, "spec", "scope"))
                if scope:
                    key = text(dig(body, "spec", "group")), text(names.get("kind"))
                    defined[key] = scope != "Cluster"
            elif _builtin(group, kind) is None:
                # One object in a namespace settles it; a hand-written one may lack its own.
                here = bool(fields(body.get("metadata")).get("namespace"))
                seen[group, kind] = seen.get((group, kind), False) or here
        return cls(seen | defined)

    def is_namespaced(self, group: str, kind: str) -> bool | None:
        """`None` if the scope is unknown."""
        namespaced = self._known.get((group, kind))
        if namespaced is None:
            namespaced = _builtin(group, kind)
        return self._otherwise if namespaced is None else namespaced


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

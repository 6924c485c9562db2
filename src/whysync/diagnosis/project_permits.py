"""What an AppProject permits, as far as one refused entry goes.

Mirrors `IsSourcePermitted`, `IsDestinationPermitted` and `IsGroupKindNamePermitted` of Argo CD 3.6 for a
project without its global parents. whysync uses it to tell whether a refusal still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whysync.contracts.project import GroupKind, ProjectSpec
from whysync.semantics.globs import glob_match, path_match

# Kinds of Kubernetes itself that have no namespace; a custom resource's scope is in its CRD.
CLUSTER_SCOPED = frozenset(
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


def permits_source(spec: ProjectSpec, url: str) -> bool:
    plain = _plain(url)
    return _any(spec.source_repos, lambda pattern: pattern == "*" or glob_match(_plain(pattern), plain, "/"))


def permits_destination(spec: ProjectSpec, server: str, namespace: str) -> bool:
    """`server` may be the cluster's name, as an Application may use either."""
    return any(
        (_matches(item.server, server) or _matches(item.name, server)) and _matches(item.namespace, namespace)
        for item in spec.destinations
    )


def permits_kind(spec: ProjectSpec, group: str, kind: str, *, namespaced: bool) -> bool:
    """For namespaced kinds no list permits all; for cluster-scoped ones it permits nothing."""
    if namespaced:
        wanted, unwanted = spec.namespace_resource_whitelist, spec.namespace_resource_blacklist
        permitted = wanted is None or _lists(wanted, group, kind)
    else:
        wanted, unwanted = spec.cluster_resource_whitelist, spec.cluster_resource_blacklist
        permitted = _lists(wanted or (), group, kind)
    return permitted and not _lists(unwanted or (), group, kind)


def _lists(entries: Iterable[GroupKind], group: str, kind: str) -> bool:
    return any(path_match(entry.group, group) and path_match(entry.kind, kind) for entry in entries)


def _any(patterns: Iterable[str], matches: Callable[[str], bool]) -> bool:
    """A `!pattern` that matches refuses; of the others one must match."""
    allowed = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if matches(pattern[1:]):
                return False
        elif matches(pattern):
            allowed = True
    return allowed


def _matches(pattern: str, value: str) -> bool:
    if pattern.startswith("!"):
        return not glob_match(pattern[1:], value)
    return bool(pattern) and glob_match(pattern, value)


def _plain(url: str) -> str:
    bare = url.strip().lower().rstrip("/").removesuffix(".git")
    return (
        bare.removeprefix("ssh://")
        .removeprefix("https://")
        .removeprefix("http://")
        .rpartition("@")[2]
        .replace(":", "/")
    )

"""Resource names as `kubectl` accepts them: `deploy`, `deployments`, `certificates.cert-manager.io`."""

from __future__ import annotations

from typing import Final

from whysync.kubernetes.apiserver.protocol import Cluster, ServedKind

_SHORT: Final = {
    "cm": "configmaps", "deploy": "deployments", "sts": "statefulsets", "ds": "daemonsets", "svc": "services",
    "sa": "serviceaccounts", "ns": "namespaces", "hpa": "horizontalpodautoscalers", "po": "pods",
    "pvc": "persistentvolumeclaims", "ing": "ingresses", "rs": "replicasets", "cj": "cronjobs",
    "crd": "customresourcedefinitions", "quota": "resourcequotas", "netpol": "networkpolicies",
}  # fmt: skip


def served_kind(cluster: Cluster, resource: str) -> ServedKind | None:
    """The kind with this plural, singular or short name, which may be followed by its group."""
    name, _, group = resource.lower().partition(".")
    name = _SHORT.get(name, name)
    matching = [
        kind
        for kind in cluster.kinds()
        if name in (kind.plural, kind.kind.lower()) and (not group or kind.group == group)
    ]
    # Discovery lists the preferred version of a kind first; the core group comes before others.
    return min(matching, key=lambda kind: (kind.group != "", kind.group == "events.k8s.io"), default=None)


def is_application(resource: str) -> bool:
    return resource.lower().partition(".")[0] in ("application", "applications", "app", "apps")


def patch_verb(kind: ServedKind | None) -> str:
    """Custom resources do not support strategic merge patches."""
    builtin = kind is not None and ("." not in kind.group or kind.group.endswith(".k8s.io"))
    return "strategic-patch" if builtin else "merge-patch"

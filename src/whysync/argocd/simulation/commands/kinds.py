"""`deployment/web`, `deploy web`, `certificates.cert-manager.io/web`: which object of a cluster is meant."""

from __future__ import annotations

from typing import Final

from whysync.kubernetes.apiserver.protocol import Cluster, ServedKind

_SHORT: Final = {
    "cm": "configmaps", "deploy": "deployments", "sts": "statefulsets", "ds": "daemonsets", "svc": "services",
    "sa": "serviceaccounts", "ns": "namespaces", "hpa": "horizontalpodautoscalers", "po": "pods",
    "pvc": "persistentvolumeclaims", "ing": "ingresses", "rs": "replicasets", "cj": "cronjobs",
    "crd": "customresourcedefinitions", "quota": "resourcequotas", "netpol": "networkpolicies",
}  # fmt: skip


def served_kind(cluster: Cluster, written: str) -> ServedKind | None:
    """By plural, singular or short name, with or without the group behind it."""
    name, _, group = written.lower().partition(".")
    name = _SHORT.get(name, name)
    matching = [
        kind
        for kind in cluster.kinds()
        if name in (kind.plural, kind.kind.lower()) and (not group or kind.group == group)
    ]
    # Of the versions of a kind the best comes first in discovery; the core group before others.
    return min(matching, key=lambda kind: (kind.group != "", kind.group == "events.k8s.io"), default=None)


def is_application(written: str) -> bool:
    return written.lower().partition(".")[0] in ("application", "applications", "app", "apps")


def patch_verb(kind: ServedKind | None) -> str:
    """Custom resources know no strategic patch."""
    builtin = kind is not None and ("." not in kind.group or kind.group.endswith(".k8s.io"))
    return "strategic-patch" if builtin else "merge-patch"

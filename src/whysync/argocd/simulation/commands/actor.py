"""The user who runs a command, and the result of a command."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Json, Object, copy
from whysync.kubernetes.apiserver.protocol import Cluster, ServedKind

Outcome = tuple[str, bool]
"""The output of a command, and whether it failed."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is what `-f -` reads, or what an editor is closed with."""

    user: str = ""
    groups: tuple[str, ...] = ()
    input: tuple[Object, ...] = ()


# JSON merge patch (RFC 7386).


def merged(before: Json, patch: Json) -> Json:
    """`before` with `patch` applied; `null` removes a field."""
    if not isinstance(patch, dict):
        return copy(patch)
    after: Object = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = merged(after.get(key), value)
    return after


# Resource names as `kubectl` accepts them: `deploy`, `deployments`, `certificates.cert-manager.io`.


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

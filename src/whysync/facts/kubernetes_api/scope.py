"""What to read for some Applications on one cluster: namespaces, kinds, names. Sends no requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from whysync.argocd.api.application import Application
from whysync.facts.kubernetes_api.discovery import Kind, Kinds
from whysync.kubernetes.api.ref import Key

# Read in every namespace: workloads and their children, what they reference, what limits them.
AROUND = (
    ("", "Pod"),
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("", "Service"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("", "ConfigMap"),
    ("", "Secret"),
    ("", "ServiceAccount"),
    ("", "PersistentVolumeClaim"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("policy", "PodDisruptionBudget"),
)
# Read for the cluster: few objects that affect others everywhere.
ABOVE = (
    ("storage.k8s.io", "StorageClass"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("apiregistration.k8s.io", "APIService"),
)
# Controllers that create objects of another group than their own.
_MADE_BY = {
    "cert-manager.io": ("acme.cert-manager.io",),
    "serving.knative.dev": ("networking.internal.knative.dev", "autoscaling.internal.knative.dev"),
}
# Kubernetes' own groups with a dot: no CRD defines them.
_OWN = (".k8s.io",)
_FOREIGN = ("gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io", "x-k8s.io")
# A group with more kinds than this belongs to a cloud provider: its kinds do not create each other.
_MOST_SIBLINGS = 15
_NAME = re.compile(r"[A-Za-z0-9:._-]{1,253}")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """`rows` are the resources that Argo CD lists, by their keys."""

    namespaces: frozenset[str]
    # of unhealthy Applications: only for them a fact that cannot be read is a gap
    troubled: frozenset[str]
    rows: frozenset[Key]
    versions: dict[tuple[str, str], frozenset[str]]
    # all error messages of Argo CD
    words: str = ""
    # namespaces with an Application whose logs are read
    failing: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not self.namespaces and not self.rows

    def kinds_of_rows(self) -> frozenset[tuple[str, str]]:
        return frozenset((row.group, row.kind) for row in self.rows)


def scope_of(apps: Iterable[Application]) -> Scope:
    namespaces: set[str] = set()
    troubled: set[str] = set()
    failing: set[str] = set()
    rows: set[Key] = set()
    versions: dict[tuple[str, str], set[str]] = {}
    words: list[str] = []
    for app in apps:
        named = {app.spec.destination.namespace} if _is_name(app.spec.destination.namespace) else set[str]()
        for resource_key in _named(app):
            if _is_name(resource_key.name) and (
                not resource_key.namespace or _is_name(resource_key.namespace)
            ):
                rows.add(resource_key)
                named.add(resource_key.namespace)
        for row in app.status.resources:
            versions.setdefault((row.group, row.kind), set()).add(row.version)
        named.discard("")
        namespaces |= named
        if is_troubled(app):
            troubled |= named | {""}
            words += _words(app)
        if app.status.health.status != "Healthy" or _is_operating(app):
            failing |= named
    return Scope(
        namespaces=frozenset(namespaces),
        troubled=frozenset(troubled),
        rows=frozenset(rows),
        versions={key: frozenset(served) for key, served in versions.items()},
        words="\n".join(words),
        failing=frozenset(failing),
    )


def _is_name(written: str) -> bool:
    """Is it a valid object name? Anything else must not be part of a URL."""
    return _NAME.fullmatch(written) is not None and written.strip(".") != ""


def is_troubled(app: Application) -> bool:
    """Is the app anything but Synced and Healthy?"""
    status = app.status
    fine = status.sync.status == "Synced" and status.health.status == "Healthy"
    return not fine or bool(status.conditions) or _is_operating(app)


def _is_operating(app: Application) -> bool:
    operation = app.status.operation_state
    return operation is not None and operation.phase not in ("", "Succeeded")


def _named(app: Application) -> Iterator[Key]:
    yield from (row.key for row in app.status.resources)
    operation = app.status.operation_state
    result = operation.sync_result if operation is not None else None
    if result is not None:
        yield from (resource.key for resource in result.resources)


def _words(app: Application) -> Iterator[str]:
    yield from (condition.message for condition in app.status.conditions)
    operation = app.status.operation_state
    if operation is not None:
        yield operation.message
        if operation.sync_result is not None:
            yield from (
                resource.message
                for resource in operation.sync_result.resources
                if resource.status != "Synced"
            )


def namespaced_kinds(scope: Scope, kinds: Kinds) -> list[Kind]:
    """All kinds to list in the scope's namespaces, each once, sorted by name."""
    wanted: dict[tuple[str, str], Kind] = {}

    def add(kind: Kind | None) -> None:
        if kind is not None and kind.namespaced and kind.can_list:
            wanted.setdefault((kind.group, kind.kind), kind)

    for group, name in scope.kinds_of_rows():
        add(_as_in_rows(scope, kinds, group, name))
        if _is_custom(group):
            for relative in (group, *_MADE_BY.get(group, ())):
                siblings = list(kinds.of_group(relative))
                if len(siblings) <= _MOST_SIBLINGS:
                    for sibling in siblings:
                        add(sibling)
    for group, name in AROUND:
        add(kinds.find(group, name))
    for kind in kinds.preferred():
        if kind.kind.endswith("Autoscaler") or kind.kind == "ScaledObject":
            add(kind)
    wanted.pop(("", "Event"), None)
    wanted.pop(("events.k8s.io", "Event"), None)
    return [wanted[key] for key in sorted(wanted)]


def _as_in_rows(scope: Scope, kinds: Kinds, group: str, name: str) -> Kind | None:
    """The kind in the version that all resources use, otherwise in the preferred one."""
    written = scope.versions.get((group, name), frozenset())
    return kinds.find(group, name, next(iter(written)) if len(written) == 1 else "")


def cluster_rows(scope: Scope, kinds: Kinds) -> dict[tuple[str, str], tuple[Kind, list[str]]]:
    """Names of cluster-scoped resources by kind."""
    names_by_kind: dict[tuple[str, str], tuple[Kind, list[str]]] = {}
    for row in sorted(scope.rows):
        kind = _as_in_rows(scope, kinds, row.group, row.kind)
        if kind is not None and not kind.namespaced and row.name:
            names_by_kind.setdefault((row.group, row.kind), (kind, []))[1].append(row.name)
    return names_by_kind


def definitions(scope: Scope, kinds: Kinds) -> tuple[list[str], list[str]]:
    """Names of the CRDs of custom resources, and groups with a resource whose kind is not served."""
    names: set[str] = set()
    unknown: set[str] = set()
    for group, name in scope.kinds_of_rows():
        if not _is_custom(group):
            continue
        kind = kinds.find(group, name)
        if kind is None:
            unknown.add(group)
        else:
            names.add(f"{kind.plural}.{group}")
    return sorted(names), sorted(unknown)


def _is_custom(group: str) -> bool:
    return "." in group and (not group.endswith(_OWN) or group.endswith(_FOREIGN))

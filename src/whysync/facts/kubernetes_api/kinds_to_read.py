"""What to read for some Applications on one cluster: namespaces, kinds, names. Sends no requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from whysync.argocd.api.application import Application
from whysync.facts.kubernetes_api.discovery import Kind, Kinds
from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, group_of

# Read in every namespace: workloads and their children, what they reference, what limits them.
RELATED_KINDS = (
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
CLUSTER_WIDE_KINDS = (
    ("storage.k8s.io", "StorageClass"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("apiregistration.k8s.io", "APIService"),
)
# Read where an app has a problem: policies that change objects at admission, if the cluster has these kinds.
MUTATING_POLICY_KINDS = (
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("kyverno.io", "ClusterPolicy"),
    ("mutations.gatekeeper.sh", "Assign"),
    ("mutations.gatekeeper.sh", "AssignMetadata"),
    ("mutations.gatekeeper.sh", "ModifySet"),
)
# Controllers that create objects of another group than their own.
_CREATED_GROUPS = {
    "cert-manager.io": ("acme.cert-manager.io",),
    "serving.knative.dev": ("networking.internal.knative.dev", "autoscaling.internal.knative.dev"),
}
# Groups with a dot that Kubernetes serves itself, and those with the same suffix that CRDs define.
_BUILT_IN_SUFFIXES = (".k8s.io",)
_CRD_GROUPS = ("gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io", "x-k8s.io")
# A group with more kinds than this belongs to a cloud provider: its kinds do not create each other.
_MAX_SIBLINGS = 15
_DEEPEST_REFERENCE = 5
_NAME = re.compile(r"[A-Za-z0-9:._-]{1,253}")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """`resources` are the resources that Argo CD lists, by their keys."""

    namespaces: frozenset[str]
    # of Applications that are not Synced and Healthy: only there an unreadable fact is a gap
    namespaces_with_problems: frozenset[str]
    resources: frozenset[Key]
    versions: dict[tuple[str, str], frozenset[str]]
    # resources that are not in Git: a sync may delete them
    prunable: frozenset[Key] = frozenset()
    # all error messages of Argo CD
    error_text: str = ""
    # namespaces with an Application whose logs are read
    failing: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not self.namespaces and not self.resources

    def resource_kinds(self) -> frozenset[tuple[str, str]]:
        return frozenset((resource.group, resource.kind) for resource in self.resources)


def scope_of(apps: Iterable[Application]) -> Scope:
    namespaces: set[str] = set()
    namespaces_with_problems: set[str] = set()
    failing: set[str] = set()
    resources: set[Key] = set()
    versions: dict[tuple[str, str], set[str]] = {}
    prunable: set[Key] = set()
    error_text: list[str] = []
    for app in apps:
        app_namespaces = (
            {app.spec.destination.namespace} if _is_name(app.spec.destination.namespace) else set[str]()
        )
        for resource_key in _resource_keys(app):
            if _is_name(resource_key.name) and (
                not resource_key.namespace or _is_name(resource_key.namespace)
            ):
                resources.add(resource_key)
                app_namespaces.add(resource_key.namespace)
        for resource in app.status.resources:
            versions.setdefault((resource.group, resource.kind), set()).add(resource.version)
            if resource.requires_pruning:
                prunable.add(resource.key)
        app_namespaces.discard("")
        namespaces |= app_namespaces
        if has_problem(app):
            namespaces_with_problems |= app_namespaces | {""}
            error_text += _error_messages(app)
        if app.status.health.status != "Healthy" or _is_operating(app):
            failing |= app_namespaces
    return Scope(
        namespaces=frozenset(namespaces),
        namespaces_with_problems=frozenset(namespaces_with_problems),
        resources=frozenset(resources),
        versions={key: frozenset(served) for key, served in versions.items()},
        prunable=frozenset(prunable),
        error_text="\n".join(error_text),
        failing=frozenset(failing),
    )


def _is_name(name: str) -> bool:
    """Is it a valid object name? Anything else must not be part of a URL."""
    return _NAME.fullmatch(name) is not None and name.strip(".") != ""


def has_problem(app: Application) -> bool:
    """Is the app anything but Synced and Healthy?"""
    status = app.status
    is_fine = status.sync.status == "Synced" and status.health.status == "Healthy"
    return not is_fine or bool(status.conditions) or _is_operating(app)


def _is_operating(app: Application) -> bool:
    operation = app.status.operation_state
    return operation is not None and operation.phase not in ("", "Succeeded")


def _resource_keys(app: Application) -> Iterator[Key]:
    yield from (resource.key for resource in app.status.resources)
    operation = app.status.operation_state
    result = operation.sync_result if operation is not None else None
    if result is not None:
        yield from (resource.key for resource in result.resources)


def _error_messages(app: Application) -> Iterator[str]:
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
    selected: dict[tuple[str, str], Kind] = {}

    def add(kind: Kind | None) -> None:
        if kind is not None and kind.namespaced and kind.can_list:
            selected.setdefault((kind.group, kind.kind), kind)

    for group, name in scope.resource_kinds():
        add(_kind_in_use(scope, kinds, group, name))
        if _is_custom(group):
            for related_group in (group, *_CREATED_GROUPS.get(group, ())):
                siblings = list(kinds.of_group(related_group))
                if len(siblings) <= _MAX_SIBLINGS:
                    for sibling in siblings:
                        add(sibling)
    for group, name in RELATED_KINDS:
        add(kinds.find(group, name))
    for kind in kinds.preferred():
        if kind.kind.endswith("Autoscaler") or kind.kind == "ScaledObject":
            add(kind)
    selected.pop(("", "Event"), None)
    selected.pop(("events.k8s.io", "Event"), None)
    return [selected[key] for key in sorted(selected)]


def _kind_in_use(scope: Scope, kinds: Kinds, group: str, name: str) -> Kind | None:
    """The kind in the version that all resources use, otherwise in the preferred one."""
    versions = scope.versions.get((group, name), frozenset())
    return kinds.find(group, name, next(iter(versions)) if len(versions) == 1 else "")


def cluster_scoped_resources(scope: Scope, kinds: Kinds) -> dict[tuple[str, str], tuple[Kind, list[str]]]:
    """Names of cluster-scoped resources by kind."""
    names_by_kind: dict[tuple[str, str], tuple[Kind, list[str]]] = {}
    for resource in sorted(scope.resources):
        kind = _kind_in_use(scope, kinds, resource.group, resource.kind)
        if kind is not None and not kind.namespaced and resource.name:
            names_by_kind.setdefault((resource.group, resource.kind), (kind, []))[1].append(resource.name)
    return names_by_kind


def referenced_objects(
    scope: Scope, kinds: Kinds, manifests: Iterable[Manifest]
) -> dict[tuple[str, str, str], Kind]:
    """Cluster-scoped objects that custom resources of apps with a problem name: a ClusterIssuer, a
    ClusterSecretStore, a ProviderConfig. By group, kind and name.
    """
    found: dict[tuple[str, str, str], Kind] = {}
    for manifest in manifests:
        if not _is_custom(manifest.ref.group) or manifest.ref.namespace not in scope.namespaces_with_problems:
            continue
        for field, reference in _references(manifest.spec, 0):
            kind, name = _referenced_kind(kinds, manifest, field, reference), text(reference.get("name"))
            if kind is not None and not kind.namespaced and _is_name(name):
                found.setdefault((kind.group, kind.kind, name), kind)
    return found


def _references(value: Json, depth: int) -> Iterator[tuple[str, Object]]:
    """Fields such as `issuerRef`: an object with a name."""
    if isinstance(value, dict) and depth <= _DEEPEST_REFERENCE:
        for key, inner in value.items():
            if key.endswith("Ref") and text(fields(inner).get("name")):
                yield key, fields(inner)
            else:
                yield from _references(inner, depth + 1)


def _referenced_kind(kinds: Kinds, manifest: Manifest, field: str, reference: Object) -> Kind | None:
    """By its kind, in its own group or the referrer's; without one, by the name of the field."""
    named = text(reference.get("kind"))
    group = text(reference.get("group")) or group_of(text(reference.get("apiVersion"))) or manifest.ref.group
    if named:
        return kinds.find(group, named)
    domain, stem = _domain(group), field.removesuffix("Ref").lower()
    alike = (kind for kind in kinds.preferred() if kind.kind.lower() == stem)
    return next((kind for kind in alike if _domain(kind.group) == domain), None)


def _domain(group: str) -> str:
    return ".".join(group.split(".")[-2:])


def crd_names(scope: Scope, kinds: Kinds) -> tuple[list[str], list[str]]:
    """Names of the CRDs of custom resources, and groups with a resource whose kind is not served."""
    names: set[str] = set()
    unknown: set[str] = set()
    for group, name in scope.resource_kinds():
        if not _is_custom(group):
            continue
        kind = kinds.find(group, name)
        if kind is None:
            unknown.add(group)
        else:
            names.add(f"{kind.plural}.{group}")
    return sorted(names), sorted(unknown)


def _is_custom(group: str) -> bool:
    return "." in group and (not group.endswith(_BUILT_IN_SUFFIXES) or group.endswith(_CRD_GROUPS))

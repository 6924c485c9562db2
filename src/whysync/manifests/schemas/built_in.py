"""Validate objects of built-in kinds as the API server does on creation.

Kinds and fields are those of the chosen Kubernetes release; values are always checked as in 1.36.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from whysync.json_tree import Object, fields
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.registry_strategies import prepare_for_create
from whysync.kubernetes.apiserver.resource_kind import BuiltIn
from whysync.kubernetes.apiserver.service_allocation import AddressAllocator, RegistryContext
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.schema import type_of
from whysync.kubernetes.schema.releases import BASE, OLDEST, span_of_kind, type_in
from whysync.kubernetes.validation import FieldProblem, problems_on_create
from whysync.manifests.schemas.typed import violations
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind, as_pointer

# Requests to a running server, which are not committed to Git.
_NOT_KEPT: Final = ("authorization.k8s.io", "authentication.k8s.io")


@cache
def _served() -> dict[tuple[str, str], Resource]:
    return {(value.api_version, value.kind): value for value in built_in().values()}


def is_built_in(api_version: str, kind: str) -> bool:
    """Is it a kind of any known release?"""
    return type_of(api_version, kind) is not None or span_of_kind(api_version, kind) is not None


def is_served(api_version: str, kind: str) -> bool:
    return (api_version, kind) in _served()


def kinds_of(api_version: str) -> list[str]:
    return [name for version, name in _served() if version == api_version]


def is_namespaced(api_version: str, kind: str) -> bool | None:
    served = _served().get((api_version, kind))
    return None if served is None else served.namespaced


def field_violations(body: Object, api_version: str, kind: str, release: int) -> list[SchemaViolation]:
    """Unknown fields; none if the release does not have the kind. Removed kinds have their last fields."""
    go_type = type_in(api_version, kind, release)
    if go_type is None and (span := span_of_kind(api_version, kind)) is not None and span.last < OLDEST:
        go_type = type_of(api_version, kind)
    return [] if go_type is None else violations(body, go_type, release)


def built_in_violations(
    body: Object, api_version: str, kind: str, release: int = BASE
) -> list[SchemaViolation]:
    """Fields first; an object that can be decoded is validated further, as the server does."""
    violations = field_violations(body, api_version, kind, release)
    resource = _served().get((api_version, kind))
    if violations or resource is None or not resource.kept:
        return violations
    try:
        problems = problems_on_create(_as_created(body, resource))
    except Refused:
        return []  # depends on the cluster, such as dual-stack addresses
    return [
        SchemaViolation(ViolationKind.REJECTED, as_pointer(body, problem.path), str(problem))
        for problem in problems
        if not _depends_on_cluster(problem)
    ]


def _depends_on_cluster(problem: FieldProblem) -> bool:
    """Does it depend on feature gates, such as scaling to zero by an autoscaler?"""
    return problem.path == "spec.minReplicas" and problem.value == "0"


@cache
def _kind(api_version: str, kind: str) -> BuiltIn:
    return BuiltIn(_served()[api_version, kind])


def _as_created(body: Object, resource: Resource) -> Object:
    """As it would be stored: with a namespace, a uid and all defaults."""
    metadata = fields(body.get("metadata"))
    meta: Object = {**metadata, "uid": "00000000-0000-4000-8000-000000000000"}
    if resource.namespaced and not meta.get("namespace"):
        meta["namespace"] = "default"
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = f"{meta['generateName']}x"
    for key in ("managedFields", "resourceVersion", "ownerReferences"):
        meta.pop(key, None)
    served = _kind(resource.api_version, resource.kind)
    try:
        obj, _ = served.decode({**body, "metadata": meta})
    except Refused:
        return {**body, "metadata": meta}
    obj = served.defaulted(obj)
    context = RegistryContext(_EMPTY_STORE, AddressAllocator(_EMPTY_STORE), now="2026-01-01T00:00:00Z")
    return prepare_for_create(obj, resource, _zero(resource.api_version, resource.kind), context)


@cache
def _zero(api_version: str, kind: str) -> Object:
    return _kind(api_version, kind).zero()


_EMPTY_STORE: Final = Store()

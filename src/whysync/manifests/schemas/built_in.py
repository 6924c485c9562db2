"""Validate objects of built-in kinds as the API server does on creation.

Kinds and fields are those of the chosen Kubernetes release; values are always checked as in 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import NoneType
from typing import Final

from whysync.json_tree import Object, copy_object, fields
from whysync.kubernetes.api.pointer import resolve, unescape
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
    """Unknown fields and wrong types first, then the values that the server rejects.

    The server stops after the first group. Values are checked without the fields of that group, and not next
    to them, because what is missing there may be the misspelled field.
    """
    resource = _served().get((api_version, kind))
    if resource is None or not resource.kept:
        return field_violations(body, api_version, kind, release)
    decoded = _decoded_strictly(body, resource) if release == BASE else None
    violations = [] if decoded is not None else field_violations(body, api_version, kind, release)
    decodable = _without(body, [violation.pointer for violation in violations]) if violations else body
    try:
        problems = problems_on_create(_as_created(decodable, resource, decoded))
    except Refused:
        return violations  # depends on the cluster, such as dual-stack addresses
    parents = {violation.pointer.rpartition("/")[0] for violation in violations}
    for problem in problems:
        pointer = as_pointer(decodable, problem.path)
        is_next_to = any(
            f"{pointer}/".startswith(f"{parent}/") or f"{parent}/".startswith(f"{pointer}/")
            for parent in parents
        )
        if not is_next_to and not _depends_on_cluster(problem):
            violations.append(SchemaViolation(ViolationKind.REJECTED, pointer, str(problem)))
    return violations


def _without(body: Object, pointers: Iterable[str]) -> Object:
    """Without these fields; the last elements of lists first, so that the others keep their position."""
    result = copy_object(body)
    for pointer in sorted(pointers, key=_position, reverse=True):
        parent, _, name = pointer.rpartition("/")
        node = resolve(result, parent)
        if isinstance(node, dict):
            node.pop(unescape(name), None)
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            del node[int(name)]
    return result


def _position(pointer: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in pointer.split("/")]


def _depends_on_cluster(problem: FieldProblem) -> bool:
    """Does it depend on feature gates, such as scaling to zero by an autoscaler?"""
    return problem.path == "spec.minReplicas" and problem.value == "0"


@cache
def _kind(api_version: str, kind: str) -> BuiltIn:
    return BuiltIn(_served()[api_version, kind])


_REPLACED: Final = ("uid", "managedFields", "resourceVersion", "ownerReferences")
_DEFAULTED: Final = ("name", "namespace", "generateName")


def _decoded_strictly(body: Object, resource: Resource) -> Object | None:
    """The decoded object if it certainly has no unknown fields and no wrong types."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or any(key in metadata for key in _REPLACED):
        return None
    if not all(isinstance(metadata.get(key), (str, NoneType)) for key in _DEFAULTED):
        return None
    try:
        obj, unknown_fields = _kind(resource.api_version, resource.kind).decode(_identified(body, resource))
    except Refused:
        return None
    return None if unknown_fields else obj


def _as_created(body: Object, resource: Resource, decoded: Object | None) -> Object:
    """As it would be stored: with a namespace, a uid and all defaults."""
    served = _kind(resource.api_version, resource.kind)
    if decoded is None:
        body = _identified(body, resource)
        try:
            decoded, _ = served.decode(body)
        except Refused:
            return body
    obj = served.defaulted(decoded)
    context = RegistryContext(_EMPTY_STORE, AddressAllocator(_EMPTY_STORE), now="2026-01-01T00:00:00Z")
    return prepare_for_create(obj, resource, _zero(resource.api_version, resource.kind), context)


def _identified(body: Object, resource: Resource) -> Object:
    """With a name, a namespace and a uid."""
    meta: Object = {**fields(body.get("metadata")), "uid": "00000000-0000-4000-8000-000000000000"}
    if resource.namespaced and not meta.get("namespace"):
        meta["namespace"] = "default"
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = f"{meta['generateName']}x"
    for key in ("managedFields", "resourceVersion", "ownerReferences"):
        meta.pop(key, None)
    return {**body, "metadata": meta}


@cache
def _zero(api_version: str, kind: str) -> Object:
    return _kind(api_version, kind).zero()


_EMPTY_STORE: Final = Store()

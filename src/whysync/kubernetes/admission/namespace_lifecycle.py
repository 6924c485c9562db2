"""Namespaces that are missing, or on their way out: what cannot be made there, and what still holds them."""

from __future__ import annotations

from collections import Counter

from whysync.json_tree import Json, Object, dig, items, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden, not_found
from whysync.kubernetes.apiserver.storage import Place, Store


def require_namespace(call: RequestContext, name: str, store: Store) -> None:
    """Raises `Refused` where nothing new can be made in the namespace of the request."""
    if not call.resource.namespaced:
        return
    namespace = call.address.namespace
    found = store.get((("", "namespaces"), "", namespace))
    if found is None:
        raise not_found("namespaces", "", namespace)
    if not dig(found, "metadata", "deletionTimestamp"):
        return
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = forbidden(call.resource.plural, call.resource.group, name, why)
    cause: Json = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    details: Object = {**(refusal.details or {}), "causes": [cause]}
    refusal.details = details
    raise refusal


def namespace_conditions(left: list[tuple[Place, Object]], now: str) -> list[Json]:
    """The five conditions of a namespace that ends, for what is left in it, in the controller's words."""
    kinds = Counter(f"{plural}.{group}" for (group, plural), _, _ in (place for place, _ in left))
    finalizers = Counter(text(name) for _, obj in left for name in items(dig(obj, "metadata", "finalizers")))
    remaining = ", ".join(f"{kind} has {count} resource instances" for kind, count in sorted(kinds.items()))
    holding = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    rows = (
        ("NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered",
         "All resources successfully discovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", False, "ParsedGroupVersions",
         "All legacy kube types successfully parsed"),
        ("NamespaceDeletionContentFailure", False, "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization"),
        ("NamespaceContentRemaining", True, "SomeResourcesRemain",
         f"Some resources are remaining: {remaining}")
        if left
        else ("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"),
        ("NamespaceFinalizersRemaining", True, "SomeFinalizersRemain",
         f"Some content in the namespace has finalizers remaining: {holding}")
        if finalizers
        else ("NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers",
              "All content-preserving finalizers finished"),
    )  # fmt: skip
    return [
        {
            "type": kind,
            "status": str(holds),
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, holds, reason, message in rows
    ]

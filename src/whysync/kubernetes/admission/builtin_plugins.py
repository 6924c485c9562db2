"""Built-in admission plugins: NamespaceLifecycle, ServiceAccount, PersistentVolumeClaimResize."""

from __future__ import annotations

from collections import Counter
from typing import Final

from whysync.golang.quantity import value_or_zero
from whysync.json_tree import Json, Object, dig, items, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden, not_found
from whysync.kubernetes.apiserver.storage import ObjectKey, Store


def require_namespace(call: RequestContext, name: str, store: Store) -> None:
    """Raises `Refused` if the namespace of the request does not exist or is terminating."""
    if not call.resource.namespaced:
        return
    namespace = call.address.namespace
    namespace_object = store.get((("", "namespaces"), "", namespace))
    if namespace_object is None:
        raise not_found("namespaces", "", namespace)
    if not dig(namespace_object, "metadata", "deletionTimestamp"):
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


def namespace_conditions(left: list[tuple[ObjectKey, Object]], now: str) -> list[Json]:
    """The five conditions of a namespace that ends, for what is left in it, in the controller's words."""
    kinds = Counter(f"{plural}.{group}" for (group, plural), _, _ in (object_key for object_key, _ in left))
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


# PersistentVolumeClaimResize

_CLASSES: Final = ("storage.k8s.io", "storageclasses")
_NOT_THIS_ONE: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


def check_resize(obj: Object, live: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused`. One that is not bound has been refused before, as it cannot be changed at all.

    Differs: a class that is named and not there (facts may lack it) is taken to support it.
    """
    if (call.resource.group, call.resource.kind) != ("", "PersistentVolumeClaim") or call.address.subresource:
        return
    before, after = (dig(claim, "spec", "resources", "requests", "storage") for claim in (live, obj))
    if before == after or value_or_zero(text(after)) <= value_or_zero(text(before)):
        return
    name = call.address.name
    kind = text(dig(live, "spec", "storageClassName"))
    known = store.get((_CLASSES, "", kind)) if kind else None
    if not kind or (known is not None and known.get("allowVolumeExpansion") is not True):
        raise forbidden(call.resource.plural, "", name, _NOT_THIS_ONE)


# ServiceAccount

_ACCOUNTS: Final = ("", "serviceaccounts")


def check_account(pod: Object, requested: str, call: RequestContext, store: Store) -> None:
    """The ServiceAccount of a Pod has to exist. `requested` is the name as sent, which may be a prefix.

    Differs: where a namespace has no `default` account, as in a partly loaded cluster, no account is
    required; and no token is mounted.
    """
    if call.resource.kind != "Pod" or call.resource.group:
        return
    namespace, name = call.address.namespace, text(dig(pod, "spec", "serviceAccountName"))
    if not name or store.get((_ACCOUNTS, namespace, name)) is not None:
        return
    if store.get((_ACCOUNTS, namespace, "default")) is None:
        return
    why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
    raise forbidden("pods", "", requested, why)

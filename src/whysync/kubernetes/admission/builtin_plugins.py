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


def namespace_conditions(remaining_objects: list[tuple[ObjectKey, Object]], now: str) -> list[Json]:
    """The five conditions of a terminating namespace with these remaining objects."""
    kinds = Counter(
        f"{plural}.{group}" for (group, plural), _, _ in (object_key for object_key, _ in remaining_objects)
    )
    finalizers = Counter(
        text(name) for _, obj in remaining_objects for name in items(dig(obj, "metadata", "finalizers"))
    )
    remaining_text = ", ".join(
        f"{kind} has {count} resource instances" for kind, count in sorted(kinds.items())
    )
    finalizer_text = ", ".join(
        f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
    )
    rows = (
        ("NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered",
         "All resources successfully discovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", False, "ParsedGroupVersions",
         "All legacy kube types successfully parsed"),
        ("NamespaceDeletionContentFailure", False, "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization"),
        ("NamespaceContentRemaining", True, "SomeResourcesRemain",
         f"Some resources are remaining: {remaining_text}")
        if remaining_objects
        else ("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"),
        ("NamespaceFinalizersRemaining", True, "SomeFinalizersRemain",
         f"Some content in the namespace has finalizers remaining: {finalizer_text}")
        if finalizers
        else ("NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers",
              "All content-preserving finalizers finished"),
    )  # fmt: skip
    return [
        {
            "type": kind,
            "status": str(status),
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in rows
    ]


# PersistentVolumeClaimResize

_CLASSES: Final = ("storage.k8s.io", "storageclasses")
_NOT_THIS_ONE: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
    "support resize"
)


def check_resize(obj: Object, live: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused` if the storage class does not support expansion; unbound claims are immutable anyway.

    Differs: a missing storage class (facts may lack it) is assumed to support it.
    """
    if (call.resource.group, call.resource.kind) != ("", "PersistentVolumeClaim") or call.address.subresource:
        return
    old_size, new_size = (dig(claim, "spec", "resources", "requests", "storage") for claim in (live, obj))
    if old_size == new_size or value_or_zero(text(new_size)) <= value_or_zero(text(old_size)):
        return
    name = call.address.name
    class_name = text(dig(live, "spec", "storageClassName"))
    storage_class = store.get((_CLASSES, "", class_name)) if class_name else None
    if not class_name or (
        storage_class is not None and storage_class.get("allowVolumeExpansion") is not True
    ):
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

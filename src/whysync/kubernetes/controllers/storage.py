"""Claims and classes of storage: which claims a pod uses, and when a claim is bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import Client, annotations_of

VOLUMES: Final = ("", "persistentvolumes")
STORAGE_CLASSES: Final = ("storage.k8s.io", "storageclasses")
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BETA_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATION: Final = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_ANNOTATION: Final = "storageclass.beta.kubernetes.io/is-default-class"


def claim_names(pod: Object) -> Iterator[tuple[str, bool]]:
    """The claims of a pod, and whether each is the pod's own, made for it."""
    for raw in items(fields(pod.get("spec")).get("volumes")):
        volume = fields(raw)
        if "persistentVolumeClaim" in volume:
            yield text(dig(volume, "persistentVolumeClaim", "claimName")), False
        elif "ephemeral" in volume:
            yield f"{text(dig(pod, 'metadata', 'name'))}-{text(volume.get('name'))}", True


def storage_class_name(claim: Object) -> str | None:
    """`None` where the claim leaves it to the cluster; empty where it wants none."""
    old = annotations_of(claim).get(_BETA_CLASS_ANNOTATION)
    if isinstance(old, str):
        return old
    name = fields(claim.get("spec")).get("storageClassName")
    return name if isinstance(name, str) else None


def default_storage_class(client: Client) -> Object | None:
    """The youngest of those that are marked as default."""
    marked = [
        storage_class
        for storage_class in client.list(STORAGE_CLASSES)
        if "true"
        in (
            annotations_of(storage_class).get(_DEFAULT_ANNOTATION),
            annotations_of(storage_class).get(_BETA_DEFAULT_ANNOTATION),
        )
    ]
    marked.sort(key=lambda storage_class: text(dig(storage_class, "metadata", "name")))
    return max(
        marked,
        key=lambda storage_class: text(dig(storage_class, "metadata", "creationTimestamp")),
        default=None,
    )


def binding_mode(client: Client, claim: Object) -> str:
    """`Immediate`, also where the class is not there, or `WaitForFirstConsumer`."""
    name = storage_class_name(claim)
    storage_class = default_storage_class(client) if name is None else client.get(STORAGE_CLASSES, "", name)
    return text(dig(storage_class, "volumeBindingMode"), "Immediate")


def ensure_default_class(client: Client) -> None:
    """A default class, where the cluster has no class of its own; volumes of most can grow."""
    if client.list(STORAGE_CLASSES):
        return
    annotations: Object = {_DEFAULT_ANNOTATION: "true"}
    standard: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": annotations},
        "provisioner": "hostpath.csi.k8s.io",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }
    client.api_server.load([standard])

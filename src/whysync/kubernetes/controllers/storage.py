"""StorageClasses and PersistentVolumeClaims: the claims of a pod, and the class of a claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import Client, annotations_of

VOLUMES: Final = ("", "persistentvolumes")
STORAGE_CLASSES: Final = ("storage.k8s.io", "storageclasses")
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BETA_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS: Final = "storageclass.beta.kubernetes.io/is-default-class"


def claim_names(pod: Object) -> Iterator[tuple[str, bool]]:
    """The names of a pod's claims, and whether each is that of an ephemeral volume."""
    for raw in items(fields(pod.get("spec")).get("volumes")):
        volume = fields(raw)
        if "persistentVolumeClaim" in volume:
            yield text(dig(volume, "persistentVolumeClaim", "claimName")), False
        elif "ephemeral" in volume:
            yield f"{text(dig(pod, 'metadata', 'name'))}-{text(volume.get('name'))}", True


def storage_class_name(claim: Object) -> str | None:
    """`None` means the default class of the cluster; empty means no class."""
    old = annotations_of(claim).get(_BETA_CLASS_ANNOTATION)
    if isinstance(old, str):
        return old
    name = fields(claim.get("spec")).get("storageClassName")
    return name if isinstance(name, str) else None


def default_storage_class(client: Client) -> Object | None:
    """The newest StorageClass that is marked as default."""
    marked = [
        storage_class
        for storage_class in client.list(STORAGE_CLASSES)
        if "true"
        in (
            annotations_of(storage_class).get(DEFAULT_CLASS),
            annotations_of(storage_class).get(_BETA_DEFAULT_CLASS),
        )
    ]
    marked.sort(key=lambda storage_class: text(dig(storage_class, "metadata", "name")))
    return max(
        marked,
        key=lambda storage_class: text(dig(storage_class, "metadata", "creationTimestamp")),
        default=None,
    )


def binding_mode(client: Client, claim: Object) -> str:
    """`Immediate` or `WaitForFirstConsumer`; `Immediate` if the class does not exist."""
    name = storage_class_name(claim)
    storage_class = default_storage_class(client) if name is None else client.get(STORAGE_CLASSES, "", name)
    return text(dig(storage_class, "volumeBindingMode"), "Immediate")


def ensure_default_class(client: Client) -> None:
    """Adds a default StorageClass that allows expansion, unless the cluster has classes."""
    if not client.list(STORAGE_CLASSES):
        client.api_server.load([default_class()])


def default_class() -> Object:
    annotations: Object = {DEFAULT_CLASS: "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": annotations},
        "provisioner": "hostpath.csi.k8s.io",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }

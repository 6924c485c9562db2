"""Sync options in the annotation of an object: whether one is set, and the edit that sets it."""

from __future__ import annotations

from whysync.argocd import hooks
from whysync.diagnosis.fix import Set
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join

_POINTER = join(("metadata", "annotations", hooks.SYNC_OPTIONS))


def has_option(manifest: Manifest | None, option: str) -> bool:
    return manifest is not None and hooks.has_option(manifest.body, hooks.SYNC_OPTIONS, option)


def with_options(manifest: Manifest, *options: str) -> Set:
    """The edit that adds these options and keeps the others."""
    known = hooks.options(manifest.body, hooks.SYNC_OPTIONS)
    return Set(pointer=_POINTER, value=",".join(dict.fromkeys((*known, *options))))


LOST_WITH = {
    "PersistentVolumeClaim": "the data of its volume",
    "PersistentVolume": "the reference to its volume",
    "Namespace": "everything in it",
    "CustomResourceDefinition": "all objects of its kind",
}
"""What is lost when an object of this kind is deleted."""
_KEEPING = ("Prune=false", "Prune=confirm", "Delete=false")


def keeps_from_pruning(body: Object) -> bool:
    return not set(_KEEPING).isdisjoint(hooks.options(body, hooks.SYNC_OPTIONS))

"""Finalizers that block a deletion, and what still uses a claim or volume that is being deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case
from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.timestamps import age_at

_GRACE = timedelta(minutes=2)
DELETION_TIMESTAMP = "/metadata/deletionTimestamp"
FINALIZERS = "/metadata/finalizers"
# Finalizers that Kubernetes removes when nothing uses the object any more.
PROTECTIONS = frozenset({"kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"})
FOREGROUND = "foregroundDeletion"
INSTANCES = "customresourcecleanup.apiextensions.k8s.io"
"""The API server's own, on a CustomResourceDefinition while objects of its kind exist."""
REMOVE_FINALIZERS = '{"metadata":{"finalizers":null}}'
_ENDED = ("Succeeded", "Failed")


def users_of_storage(case: Case, manifest: Manifest) -> list[tuple[Manifest, str]]:
    """The Pods that mount a claim, or the claim that a volume is bound to; each with the pointer to it."""
    if manifest.ref.kind == "PersistentVolumeClaim":
        return list(_pods(case, manifest))
    return list(_claims(case, manifest)) if manifest.ref.kind == "PersistentVolume" else []


def _pods(case: Case, claim: Manifest) -> Iterator[tuple[Manifest, str]]:
    for pod in case.live_of_kind("Pod"):
        if pod.ref.namespace != claim.ref.namespace or pod.status.get("phase") in _ENDED:
            continue
        for index, volume in enumerate(items(pod.spec.get("volumes"))):
            if dig(volume, "persistentVolumeClaim", "claimName") == claim.ref.name:
                yield pod, f"/spec/volumes/{index}/persistentVolumeClaim"


def _claims(case: Case, volume: Manifest) -> Iterator[tuple[Manifest, str]]:
    for claim in case.live_of_kind("PersistentVolumeClaim"):
        if claim.spec.get("volumeName") == volume.ref.name:
            yield claim, "/spec/volumeName"


def blocking_dependents(case: Case, owner: Manifest) -> list[tuple[Manifest, str]]:
    """The live dependents that a foreground deletion waits for, each with the pointer to the owner."""
    return [
        (item, f"/metadata/ownerReferences/{index}")
        for item in case.owned_by(owner.ref)
        for index, reference in enumerate(items(item.meta.get("ownerReferences")))
        if dig(reference, "name") == owner.ref.name
        and dig(reference, "kind") == owner.ref.kind
        and dig(reference, "blockOwnerDeletion") is True
    ]


def finalizers_of(live: Manifest | None) -> tuple[str, ...]:
    """The finalizers of a live object; none where it is not known."""
    return tuple(text(item) for item in items(live.meta.get("finalizers"))) if live is not None else ()


def is_stuck_in_deletion(case: Case, live: Manifest) -> bool:
    """Has it been terminating for more than two minutes, with finalizers left?"""
    age = age_at(case, live, DELETION_TIMESTAMP)
    return age is not None and age >= _GRACE and bool(finalizers_of(live))

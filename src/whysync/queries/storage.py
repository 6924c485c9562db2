"""Who uses a claim or a volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whysync.json_tree import dig, items
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

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

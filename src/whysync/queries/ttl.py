"""Time to live: objects that the cluster deletes some time after they finished."""

from __future__ import annotations

from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest

_TTL = ("/spec/ttlSecondsAfterFinished", "/spec/ttlStrategy", "/spec/ttlSecondsAfterFinish")


def ttl_pointer(manifest: Manifest) -> str | None:
    """The pointer of the TTL field of a Job or Workflow; `None` if it has none."""
    for pointer in _TTL:
        if not isinstance(manifest.at(pointer), Missing):
            return pointer
    return None

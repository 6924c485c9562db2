"""Volume snapshots."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    healthy,
    in_order,
    present,
    progressing,
    true,
    when,
)

_SNAPSHOT = in_order(
    when(true(".status?.readyToUse"), then=healthy("Ready to use")),
    when(present(".status?.error"), then=degraded("{.status.error.message}")),
    progressing("Waiting for status"),
)

GROUP = "snapshot.storage.k8s.io"
CHECKS: dict[str, Check] = {"VolumeSnapshot": _SNAPSHOT, "VolumeSnapshotContent": _SNAPSHOT}

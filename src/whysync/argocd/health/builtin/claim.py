"""PersistentVolumeClaim. A class that binds on first use keeps it Progressing until a Pod wants it."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import status_of
from whysync.argocd.health.builtin.typed import METADATA, GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, text

_PHASES: Final = {
    "Lost": HealthCode.DEGRADED,
    "Pending": HealthCode.PROGRESSING,
    "Bound": HealthCode.HEALTHY,
}


def _judge(claim: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1PVCHealth`, Argo CD 3.6."""
    return HealthVerdict(_PHASES.get(text(status_of(claim).get("phase")), HealthCode.UNKNOWN))


PERSISTENT_VOLUME_CLAIM = GoCheck(
    name="PersistentVolumeClaim",
    versions=("v1",),
    judge=_judge,
    shape={"metadata": METADATA, "status": {"phase": "v1.PersistentVolumeClaimPhase"}},
)

"""Gardener: a Shoot carries its state in a label."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing, unknown

GROUP: Final = "core.gardener.cloud"

CHECKS: Final[dict[str, Check]] = {
    "Shoot": by(
        (".metadata.labels?", "shoot.gardener.cloud/status"),
        {
            "healthy": healthy("Component state: Healthy"),
            "progressing": progressing("Component state: Update in progress"),
            "unhealthy": degraded("Component state: Unhealthy"),
            "unknown": unknown("Component state: Unknown"),
        },
        other=progressing("Update in progress"),
    )
}

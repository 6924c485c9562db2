"""Upbound's Crossplane providers: all kinds of all groups under `upbound.io`."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.every_crossplane_io import managed
from whysync.argocd.health.shipped.vocabulary import Check

GROUP: Final = "*.upbound.io"

CHECKS: Final[dict[str, Check]] = {
    "*": managed(
        without_status=("ClusterProviderConfig", "ProviderConfig", "ProviderConfigUsage"),
        ready=("Ready",),
    )
}

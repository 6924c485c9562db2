"""Flux: image scanning and the updates that follow from it."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_flux import STATUS_UNKNOWN, SUSPENDED_BY_SPEC, counted
from whysync.argocd.health.shipped.vocabulary import Check, in_order

GROUP = "image.toolkit.fluxcd.io"
CHECKS: dict[str, Check] = {
    # A policy cannot be suspended.
    "ImagePolicy": in_order(
        counted(unsettled="False", busy_reasons=("NewGeneration", "AccessingRepository", "ApplyingPolicy")),
        STATUS_UNKNOWN,
    ),
    "ImageRepository": in_order(
        SUSPENDED_BY_SPEC,
        counted(unsettled="False", busy_reasons=("NewGeneration", "Scanning")),
        STATUS_UNKNOWN,
    ),
    "ImageUpdateAutomation": in_order(SUSPENDED_BY_SPEC, counted(), STATUS_UNKNOWN),
}

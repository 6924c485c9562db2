"""Flux: Helm releases."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_flux import STATUS_UNKNOWN, SUSPENDED_BY_SPEC, counted
from whysync.argocd.health.shipped.vocabulary import Check, in_order

GROUP = "helm.toolkit.fluxcd.io"
CHECKS: dict[str, Check] = {
    "HelmRelease": in_order(
        SUSPENDED_BY_SPEC, counted(also_true=("Released", "TestSuccess")), STATUS_UNKNOWN
    ),
}

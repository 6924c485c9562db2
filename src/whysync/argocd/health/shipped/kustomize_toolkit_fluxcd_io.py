"""Flux: kustomizations."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_flux import STATUS_UNKNOWN, SUSPENDED_BY_SPEC, counted
from whysync.argocd.health.shipped.vocabulary import Check, in_order

GROUP = "kustomize.toolkit.fluxcd.io"
CHECKS: dict[str, Check] = {
    "Kustomization": in_order(SUSPENDED_BY_SPEC, counted(), STATUS_UNKNOWN),
}

"""Flux: webhook receivers."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_flux import STATUS_UNKNOWN, SUSPENDED_BY_SPEC, counted
from whysync.argocd.health.shipped.vocabulary import DEGRADED, Check, in_order

GROUP = "notification.toolkit.fluxcd.io"
CHECKS: dict[str, Check] = {
    # Unlike the other Flux kinds, a receiver that is not ready and still reconciling counts as broken.
    "Receiver": in_order(SUSPENDED_BY_SPEC, counted(unsettled="False", busy=DEGRADED), STATUS_UNKNOWN),
}

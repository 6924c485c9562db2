"""Istio's operator. It has written its state as a number and, later, as a name."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    unknown,
    when,
)

_STATE = ".status?.status"

GROUP = "install.istio.io"
CHECKS: dict[str, Check] = {
    "IstioOperator": in_order(
        when(is_(_STATE, 0, "NONE"), then=unknown("Component is not present.")),
        when(
            is_(_STATE, 1, "UPDATING"),
            then=progressing("Component is being updated to a different version."),
        ),
        when(
            is_(_STATE, 2, "RECONCILING"),
            then=progressing(
                "Controller has started but not yet completed reconciliation loop for the component."
            ),
        ),
        when(is_(_STATE, 3, "HEALTHY"), then=healthy("Component is healthy.")),
        when(is_(_STATE, 4, "ERROR"), then=degraded("Component is in an error state.")),
        progressing("Waiting for Istio Control Plane"),
    ),
}

"""Gloo: gateways and routes."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    each,
    healthy,
    in_order,
    inside,
    is_,
    present,
    progressing,
    suspended,
    when,
)

GROUP: Final = "gateway.solo.io"

# Old versions write the state as a number.
_BY_STATE: Final = in_order(
    when(is_("state", "Accepted", 1), then=healthy("The resource has been validated")),
    when(is_("state", "Warning", 3), then=degraded("{reason}")),
    when(is_("state", "Pending", 0), then=suspended("The resource has not yet been validated")),
    when(is_("state", "Rejected", 2), then=degraded("{reason}")),
)

VALIDATED: Final = in_order(
    when(
        present(".status"),
        then=in_order(
            each(".status.statuses", _BY_STATE, keyed=True),
            inside(".status", _BY_STATE),
        ),
    ),
    progressing("Update in progress"),
)

CHECKS: Final[dict[str, Check]] = {
    "Gateway": VALIDATED,
    "MatchableHttpGateway": VALIDATED,
    "RouteOption": VALIDATED,
    "RouteTable": VALIDATED,
    "VirtualHostOption": VALIDATED,
    "VirtualService": VALIDATED,
}

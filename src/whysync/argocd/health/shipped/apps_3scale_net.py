"""3scale API management: the installation itself."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    present,
    progressing,
    says,
    when,
)

GROUP: Final = "apps.3scale.net"

CHECKS: Final[dict[str, Check]] = {
    "APIManager": in_order(
        when(
            present(".status?.deployments?.ready"),
            absent(".status.deployments.starting"),
            absent(".status.deployments.stopped"),
            then=healthy("3scale APIManager is available"),
        ),
        conditions(
            says("Available", "True", healthy("3scale APIManager is available")),
            when(
                is_("type", "Available"),
                present("reason"),
                isnt("reason", ""),
                then=degraded("3scale APIManager is degraded: {reason}"),
            ),
        ),
        progressing("Waiting for 3scale APIManager status..."),
    )
}

"""OpenFaaS: functions. One that is scaled to zero sleeps."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    less,
    present,
    progressing,
    says,
    suspended,
    when,
)

_READY = in_order(
    when(present(".status.replicas"), less(0, ".status.replicas"), then=healthy("{message}")),
    suspended("No replicas available"),
)

GROUP = "openfaas.com"
CHECKS: dict[str, Check] = {
    "Function": in_order(
        conditions(
            says("Ready", "False", degraded("{message}")),
            says("Stalled", "True", degraded("{message}")),
            says("Ready", "True", _READY),
        ),
        progressing("Waiting for Function"),
    ),
}

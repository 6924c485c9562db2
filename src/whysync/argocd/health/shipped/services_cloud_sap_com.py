"""SAP BTP: service instances and bindings. With conditions, only a failure keeps them from being healthy."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    degraded,
    healthy,
    in_order,
    none_of,
    path,
    progressing,
    same,
    says,
    true,
    when,
)
from whysync.json_tree import Json, Object

_FAILED = degraded("{message|}")
_CONDITIONS = path(".status?.conditions")


def _has_conditions(obj: Object, it: Json) -> bool:
    return isinstance(_CONDITIONS(obj, it), list | dict)


_SERVICE = in_order(
    when(true(".metadata.deletionTimestamp"), then=progressing("Resource is being deleted")),
    when(
        _has_conditions,
        then=in_order(
            conditions(
                when(
                    true("observedGeneration"),
                    true(".metadata.generation"),
                    none_of(same("observedGeneration", ".metadata.generation")),
                    then=progressing("Waiting for spec update to be observed"),
                ),
                says("Succeeded", "False", _FAILED),
                says("Failed", "True", _FAILED),
            ),
            healthy("Ready to use"),
        ),
    ),
    progressing("Waiting for status"),
)

GROUP = "services.cloud.sap.com"
CHECKS: dict[str, Check] = {"ServiceBinding": _SERVICE, "ServiceInstance": _SERVICE}

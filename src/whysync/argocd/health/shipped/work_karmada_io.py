"""Karmada: bindings of resources to clusters. All clusters have to report before any is judged."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    any_of,
    degraded,
    each,
    healthy,
    in_order,
    is_,
    isnt,
    none_of,
    present,
    progressing,
    some,
    when,
)
from whysync.json_tree import Json, Object

_INSUFFICIENT = progressing("Current resource status is insufficient")
_UNHEALTHY = degraded("Current resource status is unhealthy")


def _some_are_missing(obj: Object, _it: Json) -> bool:
    clusters, reported = lua.named(obj, "spec", "clusters"), lua.named(obj, "status", "aggregatedStatus")
    return lua.length(clusters) != lua.length(reported)


_EACH_CLUSTER = in_order(
    each(
        ".status.aggregatedStatus",
        when(is_("health", "Unhealthy"), then=_UNHEALTHY),
        when(is_("health", "Unknown"), isnt("applied", True), then=_UNHEALTHY),
    ),
    healthy(),
)

GROUP = "work.karmada.io"
CHECKS: dict[str, Check] = {
    "ClusterResourceBinding": in_order(
        when(
            any_of(
                absent(".status"),
                none_of(some(".spec.clusters")),
                absent(".status?.aggregatedStatus"),
                _some_are_missing,
            ),
            then=_INSUFFICIENT,
        ),
        _EACH_CLUSTER,
    ),
    # One that follows a dependency names no clusters.
    "ResourceBinding": in_order(
        when(absent(".status"), then=_INSUFFICIENT),
        when(present(".spec.clusters"), none_of(some(".spec.clusters")), then=_INSUFFICIENT),
        when(none_of(some(".status.aggregatedStatus")), then=_INSUFFICIENT),
        when(present(".spec.clusters"), _some_are_missing, then=_INSUFFICIENT),
        _EACH_CLUSTER,
    ),
}

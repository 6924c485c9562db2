"""Elastic Cloud on Kubernetes: Elasticsearch."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    PROGRESSING,
    Check,
    by,
    degraded,
    healthy,
    in_order,
    present,
    progressing,
    unknown,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "elasticsearch.k8s.elastic.co"

_LOOK: Final = "Check the status of indices, replicas and shards"

_ALL_NODES_THERE: Final = when(
    present(".status.phase"),
    present(".status.health"),
    then=by(
        ".status.phase",
        {
            "Ready": by(
                ".status.health",
                {
                    "green": healthy("Elasticsearch Cluster status is Green"),
                    "yellow": progressing(f"Elasticsearch Cluster status is Yellow. {_LOOK}"),
                    "red": degraded(f"Elasticsearch Cluster status is Red. {_LOOK}"),
                },
            ),
            "ApplyingChanges": progressing("Elasticsearch phase is ApplyingChanges"),
            "MigratingData": progressing("Elasticsearch phase is MigratingData"),
            "Invalid": degraded("Elasticsearch phase is Invalid"),
        },
    ),
)


def _by_nodes(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
    nodes = lua.maybe(obj, "status", "availableNodes")
    if nodes is None:
        return None
    wanted: int | float = 0
    for node_set in lua.pairs(lua.named(obj, "spec", "nodeSets")):
        wanted += lua.number(lua.at(node_set, "count"))
    if lua.less(nodes, wanted):
        text = lua.concat(
            "The desired amount of availableNodes is ", wanted, " but the current amount is ", nodes
        )
        return HealthVerdict(PROGRESSING, text)
    return _ALL_NODES_THERE(obj) if lua.same(nodes, wanted) else None


CHECKS: Final[dict[str, Check]] = {
    "Elasticsearch": in_order(
        _by_nodes,
        unknown(
            "Elasticsearch Cluster status is unknown. Ensure your ArgoCD is current and then check for/file"
            " a bug report: https://github.com/argoproj/argo-cd/issues"
        ),
    )
}

"""Select which objects of an app's resource tree to read, and in which order.

Managed resources are in one response; each child object (ReplicaSet, Pod, Job) needs its own request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from whysync.facts.argocd_api.responses import Node
from whysync.kubernetes.api.ref import Key

# Limits for an app that was named, and for one of many.
MOST_OBJECTS, MOST_EVENTS = 80, 40
SOME_OBJECTS, SOME_EVENTS = 16, 8
# They add nothing to what their owners show.
_NOISE = frozenset({"EndpointSlice", "Endpoints", "ControllerRevision", "Lease", "PodMetrics", "Event"})
# They affect others, whatever their own health is.
_ACTING = frozenset({"HorizontalPodAutoscaler", "Job"})


class Chosen:
    """`objects` to read one by one, `about` for events; `left_out` is the number of omitted ones."""

    def __init__(self, nodes: Iterable[Node], known: Collection[Key], *, closely: bool) -> None:
        relevant = [node for node in nodes if node.uid and node.kind not in _NOISE]
        unhealthy = _related_to_unhealthy(relevant)
        chosen = [
            node
            for node in relevant
            if node.key not in known and (closely or node.uid in unhealthy or node.kind in _ACTING)
        ]
        idle = _idle_replica_sets(relevant)
        chosen.sort(key=lambda node: (node.uid not in unhealthy, node.uid in idle, *_name(node)))
        events_about = [node for node in relevant if node.uid in unhealthy]
        events_about.sort(key=lambda node: (not node.is_unhealthy, *_name(node)))
        most = MOST_OBJECTS if closely else SOME_OBJECTS
        self.objects = tuple(chosen[:most])
        self.about = tuple(events_about[: MOST_EVENTS if closely else SOME_EVENTS])
        self.left_out = sum(node.uid not in idle for node in chosen[most:])


def _related_to_unhealthy(nodes: list[Node]) -> set[str]:
    """Unhealthy objects with all their ancestors and descendants."""
    above = {node.uid: node.parents for node in nodes}
    below: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for parent in node.parents:
            below[parent].append(node.uid)
    unhealthy = [node.uid for node in nodes if node.is_unhealthy]
    return (_reachable(unhealthy, above) | _reachable(unhealthy, below)) & above.keys()


def _reachable(start: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    reachable: set[str] = set()
    pending = list(start)
    while pending:
        uid = pending.pop()
        if uid not in reachable:
            reachable.add(uid)
            pending.extend(edges.get(uid, ()))
    return reachable


def _idle_replica_sets(nodes: list[Node]) -> set[str]:
    """Old ReplicaSets without Pods; only the newest of a Deployment and those with Pods are relevant."""
    parents = {parent for node in nodes for parent in node.parents}
    newest: dict[tuple[str, ...], Node] = {}
    sets = [node for node in nodes if node.kind == "ReplicaSet"]
    for node in sets:
        if node.parents not in newest or newest[node.parents].created_at < node.created_at:
            newest[node.parents] = node
    latest = {node.uid for node in newest.values()}
    return {node.uid for node in sets if node.uid not in parents and node.uid not in latest}


def _name(node: Node) -> tuple[str, str, str, str]:
    """Sort by name, so that the order is deterministic."""
    return (node.kind, node.namespace, node.name, node.uid)

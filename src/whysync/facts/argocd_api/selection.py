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
        there = [node for node in nodes if node.uid and node.kind not in _NOISE]
        sick = _around_the_sick(there)
        wanted = [
            node
            for node in there
            if node.key not in known and (closely or node.uid in sick or node.kind in _ACTING)
        ]
        idle = _idle_replica_sets(there)
        wanted.sort(key=lambda node: (node.uid not in sick, node.uid in idle, *_name(node)))
        events_about = [node for node in there if node.uid in sick]
        events_about.sort(key=lambda node: (not node.is_sick, *_name(node)))
        most = MOST_OBJECTS if closely else SOME_OBJECTS
        self.objects = tuple(wanted[:most])
        self.about = tuple(events_about[: MOST_EVENTS if closely else SOME_EVENTS])
        self.left_out = sum(node.uid not in idle for node in wanted[most:])


def _around_the_sick(nodes: list[Node]) -> set[str]:
    """Unhealthy objects with all their ancestors and descendants."""
    above = {node.uid: node.parents for node in nodes}
    below: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for parent in node.parents:
            below[parent].append(node.uid)
    sick = [node.uid for node in nodes if node.is_sick]
    return (_reached(sick, above) | _reached(sick, below)) & above.keys()


def _reached(start: Iterable[str], ways: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        uid = waiting.pop()
        if uid not in reached:
            reached.add(uid)
            waiting.extend(ways.get(uid, ()))
    return reached


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

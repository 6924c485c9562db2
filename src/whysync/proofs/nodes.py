"""Nodes for a cluster whose nodes the facts do not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.kubelet.nodes import ensure_nodes
from whysync.proofs.objects import pod_templates

_FEWEST: Final = 3
_MOST: Final = 50


def nodes_for(live: Iterable[Object], desired: Iterable[Object]) -> list[Object]:
    """As many as the largest DaemonSet counts, with every label that a template asks for."""
    objects = [*live, *desired]
    if any(obj.get("kind") == "Node" for obj in objects):
        return []
    labels: Object = {}
    for obj in objects:
        for template in pod_templates(obj):
            for key, value in _wished(template):
                labels.setdefault(key, value)
    names = {text(dig(obj, "spec", "nodeName")) for obj in objects if obj.get("kind") == "Pod"} - {""}
    daemons = [
        integer(dig(obj, "status", "desiredNumberScheduled"))
        for obj in objects
        if obj.get("kind") == "DaemonSet"
    ]
    count = min(max([_FEWEST, len(names), *daemons]), _MOST)
    named = [
        *sorted(names),
        *(f"node-{number}" for number in range(1, count + 1) if f"node-{number}" not in names),
    ]
    return [_called(one, name, labels) for one, name in zip(_plain(count), named, strict=False)]


def _plain(count: int) -> list[Object]:
    """As the model makes them for itself."""
    empty = ApiServer()
    ensure_nodes(empty, count)
    return [obj for obj in empty.objects() if obj.get("kind") == "Node"]


def _wished(template: Object) -> Iterator[tuple[str, str]]:
    for key, value in fields(template.get("nodeSelector")).items():
        yield key, text(value)
    terms = dig(
        template,
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    for term in items(terms)[:1]:
        for raw in items(dig(term, "matchExpressions")):
            told = fields(raw)
            values = items(told.get("values"))
            if told.get("operator") == "In" and values:
                yield text(told.get("key")), text(values[0])
            elif told.get("operator") == "Exists":
                yield text(told.get("key")), ""


def _called(node: Object, name: str, labels: Object) -> Object:
    meta = fields(node.get("metadata"))
    own: Object = {**labels, **fields(meta.get("labels")), "kubernetes.io/hostname": name}
    return {**node, "metadata": {"name": name, "labels": own}}

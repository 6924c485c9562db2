"""Why a Pod is unschedulable: the node label that no node has, or the request that is too large for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.golang.quantity import quantity_value
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def missing_node_label(case: Case, pod: Manifest) -> str:
    """The label of its nodeSelector that no node has, `pool=load-tests`; empty if no nodes are known."""
    nodes = case.live_of_kind("Node")
    for label, value in sorted(fields(pod.spec.get("nodeSelector")).items()):
        if nodes and not any(node.labels.get(label) == value for node in nodes):
            return f"{label}={text(value)}"
    return ""


def why_unschedulable(case: Case, pod: Manifest) -> str:
    """Empty if no nodes are known, or if it depends on what else runs on them."""
    nodes = case.live_of_kind("Node")
    if not nodes:
        return ""
    label = missing_node_label(case, pod)
    if label:
        return f"no node has the label {label}"
    selector = fields(pod.spec.get("nodeSelector"))
    if not any(all(node.labels.get(k) == v for k, v in selector.items()) for node in nodes):
        return (
            f"no node has all the labels {', '.join(f'{k}={text(v)}' for k, v in sorted(selector.items()))}"
        )
    for resource in ("cpu", "memory", "nvidia.com/gpu"):
        requested = sum(
            quantity_value(dig(container, "resources", "requests", resource)) or 0
            for container in items(pod.spec.get("containers"))
        )
        allocatable = [
            (quantity_value(amount), text(amount)) for node in nodes if (amount := _room(node, resource))
        ]
        largest_value, largest = max(((size or 0, words) for size, words in allocatable), default=(0, "none"))
        if requested > largest_value:
            return f"it requests more {resource} than any node has ({largest} at most)"
    return ""


def _room(node: Manifest, resource: str) -> str:
    resources = fields(node.status.get("allocatable")) or fields(node.status.get("capacity"))
    return text(resources.get(resource)) or str(resources.get(resource) or "")

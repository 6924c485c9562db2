"""Why a Pod is unschedulable: the node label that no node has, or the request that is too large for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.golang.quantity import quantity_value
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.pattern import compiled

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
# What the scheduler's filters write, and what helps against each.
_REMEDIES = (
    (r"Insufficient (?P<name>[\w./-]{0,99}\w)", "request less {name}, or add nodes that have it"),
    (r"untolerated taint \{(?P<name>[^}]{1,300})\}", "tolerate the taint {name}, or remove it from a node"),
    (r"had taint \{(?P<name>[^}]{1,300})\}", "tolerate the taint {name}, or remove it from a node"),
    (r"node affinity/selector", "correct nodeSelector or node affinity, or label a node"),
    (r"pod anti-affinity", "relax the anti-affinity, or add nodes"),
    (r"pod affinity rules", "relax the Pod affinity, or start the Pods it refers to"),
    (r"topology spread constraints", "relax topologySpreadConstraints, or add nodes in other zones"),
    (r"free ports", "free the hostPort on a node, or remove it"),
    (r"Too many pods", "add nodes: they run as many Pods as they may"),
    (r"volume node affinity conflict", "run it in the zone of its volume: no node there has room or matches"),
    (r"were unschedulable", "uncordon a node (kubectl uncordon)"),
)

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def missing_node_label(case: Case, pod: Manifest) -> str:
    """The label of its nodeSelector that no node has, `pool=load-tests`; empty if no nodes are known."""
    nodes = case.live_of_kind("Node")
    for label, value in sorted(fields(pod.spec.get("nodeSelector")).items()):
        if nodes and not any(node.labels.get(label) == value for node in nodes):
            return f"{label}={text(value)}"
    return ""


def remedies(message: str) -> list[str]:
    """What helps against each of the scheduler's reasons: `request less cpu, or add nodes that have it`."""
    found = {
        _of_node(match.groupdict().get("name", "")) or remedy.format(**match.groupdict()): match[0]
        for regex, remedy in _REMEDIES
        for match in compiled(regex).finditer(message)
    }
    usual = [remedy for remedy, reason in found.items() if not any(role in reason for role in _CONTROL_PLANE)]
    return usual or list(found)


def _of_node(taint: str) -> str:
    """A taint that Kubernetes sets on a node with a problem is not to be tolerated."""
    return f"get the nodes with the taint {taint} ready" if taint.startswith("node.kubernetes.io/") else ""


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

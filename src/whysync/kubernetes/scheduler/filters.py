"""Filter plugins of the scheduler: whether a pod fits on a node and, if not, why.

Mirrors the filters NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit and
InterPodAffinity (the pod's own required terms) of Kubernetes 1.36, in their order. As upstream, the first
plugin that fails determines the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from whysync.golang.quantity import milli_value
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.validation.selectors import selects

# NodeInfo: a node with the resources, host ports and pods that the scheduler has assigned to it.


MilliAmounts = dict[str, int]
"""Amounts by resource name, in thousandths."""
Port = tuple[str, int]
"""Protocol and host port."""
PodKey = tuple[str, str]
"""Namespace and name."""


def pod_requests(pod: Object) -> MilliAmounts:
    """Mirrors `resource.PodRequests`, Kubernetes 1.36.

    The sum of containers and sidecars, or the largest init container with the sidecars before it if that is
    more.
    """
    spec = fields(pod.get("spec"))
    total: MilliAmounts = {}
    largest_init: MilliAmounts = {}
    sidecars: MilliAmounts = {}
    for raw in items(spec.get("initContainers")):
        container = fields(raw)
        if container.get("restartPolicy") == "Always":
            _add_requests(sidecars, container)
        else:
            init = dict(sidecars)
            _add_requests(init, container)
            largest_init = {
                key: max(largest_init.get(key, 0), init.get(key, 0)) for key in {*largest_init, *init}
            }
    for raw in items(spec.get("containers")):
        _add_requests(total, fields(raw))
    for key, amount in sidecars.items():
        total[key] = total.get(key, 0) + amount
    for key, amount in fields(spec.get("overhead")).items():
        total[key] = total.get(key, 0) + milli_value(amount)
    return {key: max(total.get(key, 0), largest_init.get(key, 0)) for key in sorted({*total, *largest_init})}


def _add_requests(total: MilliAmounts, container: Object) -> None:
    for key, amount in fields(fields(container.get("resources")).get("requests")).items():
        total[key] = total.get(key, 0) + milli_value(amount)


def host_ports(pod: Object) -> tuple[Port, ...]:
    return tuple(
        (text(fields(port).get("protocol"), "TCP"), integer(fields(port).get("hostPort")))
        for raw in items(dig(pod, "spec", "containers"))
        for port in items(fields(raw).get("ports"))
        if integer(fields(port).get("hostPort"))
    )


class NodeInfo(msgspec.Struct):
    """Mirrors the scheduler framework's `NodeInfo`."""

    name: str
    labels: Object
    taints: list[Object]
    unschedulable: bool
    allocatable: MilliAmounts
    requested: MilliAmounts = msgspec.field(default_factory=dict[str, int])
    pods: dict[PodKey, Object] = msgspec.field(default_factory=dict[PodKey, Object])
    """The labels of its pods, by namespace and name."""
    used_ports: Counter[Port] = msgspec.field(default_factory=Counter[Port])
    pods_by_owner: Counter[str] = msgspec.field(default_factory=Counter[str])
    """The number of its pods, by the uid of their controller."""

    @classmethod
    def of(cls, node: Object) -> NodeInfo:
        return cls(
            name=text(dig(node, "metadata", "name")),
            labels=fields(dig(node, "metadata", "labels")),
            taints=[fields(raw) for raw in items(dig(node, "spec", "taints"))],
            unschedulable=dig(node, "spec", "unschedulable") is True,
            allocatable={
                key: milli_value(value) for key, value in fields(dig(node, "status", "allocatable")).items()
            },
        )

    def add_pod(self, key: PodKey, pod: Object) -> None:
        self.pods[key] = fields(dig(pod, "metadata", "labels"))
        self._update(pod, sign=1)

    def remove_pod(self, key: PodKey, pod: Object) -> None:
        del self.pods[key]
        self._update(pod, sign=-1)

    def _update(self, pod: Object, sign: int) -> None:
        for name, amount in pod_requests(pod).items():
            self.requested[name] = self.requested.get(name, 0) + sign * amount
        for port in host_ports(pod):
            self.used_ports[port] += sign
        self.pods_by_owner[text(controller_of(pod).get("uid"))] += sign


class PodRequirements(NamedTuple):
    """The constraints of a pod on its node, computed once for all nodes."""

    namespace: str
    labels: Object
    requests: MilliAmounts
    host_ports: tuple[Port, ...]
    tolerations: list[Json]
    node_selector: Object
    node_selector_terms: list[Json] | None
    affinity_terms: list[Json]
    anti_affinity_terms: list[Json]


class FilterFailure(NamedTuple):
    reasons: tuple[str, ...]
    unresolvable: bool
    """Whether preemption cannot help: `UnschedulableAndUnresolvable`."""


def pod_requirements(pod: Object) -> PodRequirements:
    spec = fields(pod.get("spec"))
    affinity = fields(spec.get("affinity"))
    node_affinity = dig(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return PodRequirements(
        namespace=text(dig(pod, "metadata", "namespace")),
        labels=fields(dig(pod, "metadata", "labels")),
        requests=pod_requests(pod),
        host_ports=host_ports(pod),
        tolerations=items(spec.get("tolerations")),
        node_selector=fields(spec.get("nodeSelector")),
        node_selector_terms=(
            items(node_affinity.get("nodeSelectorTerms")) if isinstance(node_affinity, dict) else None
        ),
        affinity_terms=items(dig(affinity, "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")),
        anti_affinity_terms=items(
            dig(affinity, "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        ),
    )


def run_filter_plugins(
    pod: PodRequirements, node: NodeInfo, nodes: Iterable[NodeInfo]
) -> FilterFailure | None:
    """Mirrors `RunFilterPlugins`: the failure of the first plugin that rejects the node."""
    return (
        node_unschedulable(pod, node)
        or taint_toleration(pod, node.taints)
        or node_affinity(pod, node)
        or node_ports(pod, node)
        or node_resources_fit(pod, node)
        or inter_pod_affinity(pod, node, nodes)
    )


def node_unschedulable(pod: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    taint: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node.unschedulable and not _tolerates(pod.tolerations, taint):
        return FilterFailure(("node(s) were unschedulable",), unresolvable=True)
    return None


def taint_toleration(pod: PodRequirements, taints: list[Object]) -> FilterFailure | None:
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerates(pod.tolerations, taint):
            return FilterFailure(("node(s) had untolerated taint(s)",), unresolvable=True)
    return None


def _tolerates(tolerations: list[Json], taint: Object) -> bool:
    for raw in tolerations:
        toleration = fields(raw)
        effect, key = toleration.get("effect"), text(toleration.get("key"))
        if effect and effect != taint.get("effect"):
            continue
        if key and key != taint.get("key"):
            continue
        if toleration.get("operator") == "Exists" or (
            key and text(toleration.get("value")) == text(taint.get("value"))
        ):
            return True
    return False


def node_affinity(pod: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    selected = all(node.labels.get(key) == value for key, value in pod.node_selector.items())
    terms = pod.node_selector_terms
    if selected and (terms is None or any(_term_matches(fields(term), node) for term in terms)):
        return None
    return FilterFailure(("node(s) didn't match Pod's node affinity/selector",), unresolvable=True)


def _term_matches(term: Object, node: NodeInfo) -> bool:
    match_expressions, match_fields = items(term.get("matchExpressions")), items(term.get("matchFields"))
    if not match_expressions and not match_fields:
        return False
    node_fields: Object = {"metadata.name": node.name}
    return all(_requirement_matches(fields(raw), node.labels) for raw in match_expressions) and all(
        _requirement_matches(fields(raw), node_fields) for raw in match_fields
    )


def _requirement_matches(requirement: Object, labels: Object) -> bool:
    """As a requirement of a label selector, with the additional operators Gt and Lt."""
    if requirement.get("operator") not in ("Gt", "Lt"):
        return selects({"matchExpressions": [requirement]}, labels)
    values = items(requirement.get("values"))
    try:
        label_value = int(text(labels.get(text(requirement.get("key")))))
        bound = int(text(values[0] if values else ""))
    except ValueError:
        return False
    return label_value > bound if requirement.get("operator") == "Gt" else label_value < bound


def node_ports(pod: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    if any(node.used_ports[port] for port in pod.host_ports):
        return FilterFailure(
            ("node(s) didn't have free ports for the requested pod ports",), unresolvable=False
        )
    return None


def node_resources_fit(pod: PodRequirements, node: NodeInfo) -> FilterFailure | None:
    reasons: list[str] = []
    unresolvable = False
    if len(node.pods) + 1 > node.allocatable.get("pods", 110_000) // 1000:
        reasons.append("Too many pods")
    for key, amount in pod.requests.items():
        allocatable = node.allocatable.get(key, 0)
        if amount and amount > allocatable - node.requested.get(key, 0):
            reasons.append(f"Insufficient {key}")
            unresolvable = unresolvable or amount > allocatable
    return FilterFailure(tuple(reasons), unresolvable) if reasons else None


def inter_pod_affinity(
    pod: PodRequirements, node: NodeInfo, nodes: Iterable[NodeInfo]
) -> FilterFailure | None:
    if not pod.affinity_terms and not pod.anti_affinity_terms:
        return None
    all_nodes = list(nodes)
    for raw in pod.affinity_terms:
        term = fields(raw)
        if _has_matching_pod(term, node, all_nodes, pod.namespace):
            continue
        matches_any_pod = any(
            _term_matches_pod(term, key, labels, pod.namespace)
            for candidate in all_nodes
            for key, labels in candidate.pods.items()
        )
        first_of_group = not matches_any_pod and selects(term.get("labelSelector"), pod.labels)
        if not first_of_group or text(term.get("topologyKey")) not in node.labels:
            return FilterFailure(("node(s) didn't match pod affinity rules",), unresolvable=True)
    for raw in pod.anti_affinity_terms:
        if _has_matching_pod(fields(raw), node, all_nodes, pod.namespace):
            return FilterFailure(("node(s) didn't match pod anti-affinity rules",), unresolvable=False)
    return None


def _has_matching_pod(term: Object, node: NodeInfo, nodes: list[NodeInfo], namespace: str) -> bool:
    """Does a pod in the topology domain of the node match the term?"""
    topology_key = text(term.get("topologyKey"))
    domain = node.labels.get(topology_key)
    if domain is None:
        return False
    return any(
        _term_matches_pod(term, key, labels, namespace)
        for candidate in nodes
        if candidate.labels.get(topology_key) == domain
        for key, labels in candidate.pods.items()
    )


def _term_matches_pod(term: Object, key: PodKey, labels: Object, namespace: str) -> bool:
    namespaces = items(term.get("namespaces")) or [namespace]
    return (
        key[0] in namespaces
        and isinstance(term.get("labelSelector"), dict)
        and selects(term.get("labelSelector"), labels)
    )


def fit_error(failures: list[FilterFailure], total: int) -> str:
    """Mirrors `FitError.Error`, with the messages of the DynamicResources and DefaultPreemption plugins."""
    counts: dict[str, int] = {}
    for failure in failures:
        for reason in failure.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    unresolvable = sum(failure.unresolvable for failure in failures)
    preemption: list[str] = []
    if unresolvable:
        preemption.append(f"{unresolvable} Preemption is not helpful for scheduling")
    if total - unresolvable:
        preemption.append(f"{total - unresolvable} No preemption victims found for incoming pod")
    available = f"0/{total} nodes are available:"
    return (
        f"{available} {reasons}. no new claims to deallocate, "
        f"preemption: {available} {', '.join(sorted(preemption))}."
    )

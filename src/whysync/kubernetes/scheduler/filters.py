"""Does a pod fit on a node, and if not, why, in the words of the scheduler's plugins.

Mirrors the filters NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit and
InterPodAffinity (the pod's own required terms) of Kubernetes 1.36, in their order: the first that says no is
the one that is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.label_selectors import selects
from whysync.kubernetes.scheduler.resources import Amounts, requests_of, thousandths

Port = tuple[str, int]


@dataclass(slots=True)
class NodeResources:
    """A node and what its pods have taken of it."""

    name: str
    labels: Object
    taints: list[Object]
    unschedulable: bool
    allocatable: Amounts
    used: Amounts = field(default_factory=dict[str, int])
    pods: dict[tuple[str, str], Object] = field(default_factory=dict[tuple[str, str], Object])
    """The labels of its pods, by namespace and name."""
    ports: dict[Port, int] = field(default_factory=dict[Port, int])
    by_owner: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, node: Object) -> NodeResources:
        return cls(
            name=text(dig(node, "metadata", "name")),
            labels=fields(dig(node, "metadata", "labels")),
            taints=[fields(raw) for raw in items(dig(node, "spec", "taints"))],
            unschedulable=dig(node, "spec", "unschedulable") is True,
            allocatable={
                key: thousandths(value) for key, value in fields(dig(node, "status", "allocatable")).items()
            },
        )


class PodRequirements(NamedTuple):
    """What a pod asks of a node, read once."""

    pod: Object
    requests: Amounts
    ports: tuple[Port, ...]
    tolerations: list[Json]
    selector: Object
    terms: list[Json] | None
    near: list[Json]
    far: list[Json]


class FilterFailure(NamedTuple):
    reasons: tuple[str, ...]
    for_good: bool
    """Could not even be helped by evicting other pods."""


def wish_of(pod: Object) -> PodRequirements:
    spec = fields(pod.get("spec"))
    affinity = fields(spec.get("affinity"))
    rule = dig(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return PodRequirements(
        pod=pod,
        requests=requests_of(pod),
        ports=host_ports(pod),
        tolerations=items(spec.get("tolerations")),
        selector=fields(spec.get("nodeSelector")),
        terms=items(fields(rule).get("nodeSelectorTerms")) if isinstance(rule, dict) else None,
        near=items(dig(affinity, "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")),
        far=items(dig(affinity, "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")),
    )


def host_ports(pod: Object) -> tuple[Port, ...]:
    return tuple(
        (text(fields(port).get("protocol"), "TCP"), integer(fields(port).get("hostPort")))
        for raw in items(dig(pod, "spec", "containers"))
        for port in items(fields(raw).get("ports"))
        if integer(fields(port).get("hostPort"))
    )


def refusal(
    wish: PodRequirements, node: NodeResources, nodes: Iterable[NodeResources]
) -> FilterFailure | None:
    """Why the node does not take the pod; `None` when it does."""
    if node.unschedulable and not _tolerates(
        wish.tolerations, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        return FilterFailure(("node(s) were unschedulable",), for_good=True)
    for taint in node.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerates(wish.tolerations, taint):
            return FilterFailure(("node(s) had untolerated taint(s)",), for_good=True)
    if not _wanted(wish, node):
        return FilterFailure(("node(s) didn't match Pod's node affinity/selector",), for_good=True)
    if any(port in node.ports for port in wish.ports):
        return FilterFailure(("node(s) didn't have free ports for the requested pod ports",), for_good=False)
    return _too_full(wish, node) or _company(wish, node, nodes)


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


def _wanted(wish: PodRequirements, node: NodeResources) -> bool:
    if any(node.labels.get(key) != value for key, value in wish.selector.items()):
        return False
    return wish.terms is None or any(_term_holds(fields(raw), node) for raw in wish.terms)


def _term_holds(term: Object, node: NodeResources) -> bool:
    expressions, names = items(term.get("matchExpressions")), items(term.get("matchFields"))
    if not expressions and not names:
        return False
    name: Object = {"metadata.name": node.name}
    return all(_holds(fields(raw), node.labels) for raw in expressions) and all(
        _holds(fields(raw), name) for raw in names
    )


def _holds(rule: Object, labels: Object) -> bool:
    """As a label selector, and numbers can be compared too."""
    if rule.get("operator") not in ("Gt", "Lt"):
        return selects({"matchExpressions": [rule]}, labels)
    values = items(rule.get("values"))
    try:
        label_value, wanted = (
            int(text(labels.get(text(rule.get("key"))))),
            int(text(values[0] if values else "")),
        )
    except ValueError:
        return False
    return label_value > wanted if rule.get("operator") == "Gt" else label_value < wanted


def _too_full(wish: PodRequirements, node: NodeResources) -> FilterFailure | None:
    reasons: list[str] = []
    for_good = False
    if len(node.pods) + 1 > node.allocatable.get("pods", 110_000) // 1000:
        reasons.append("Too many pods")
    for key, amount in wish.requests.items():
        room = node.allocatable.get(key, 0)
        if amount and amount > room - node.used.get(key, 0):
            reasons.append(f"Insufficient {key}")
            for_good = for_good or amount > room
    return FilterFailure(tuple(reasons), for_good) if reasons else None


def _company(
    wish: PodRequirements, node: NodeResources, nodes: Iterable[NodeResources]
) -> FilterFailure | None:
    if not wish.near and not wish.far:
        return None
    everybody = list(nodes)
    own = text(dig(wish.pod, "metadata", "namespace"))
    labels = fields(dig(wish.pod, "metadata", "labels"))
    for raw in wish.near:
        term = fields(raw)
        if _is_near(term, node, everybody, own):
            continue
        anywhere = any(
            _matches(term, key, labels_of_pod, own)
            for other_node in everybody
            for key, labels_of_pod in other_node.pods.items()
        )
        first = not anywhere and selects(term.get("labelSelector"), labels)
        if not first or text(term.get("topologyKey")) not in node.labels:
            return FilterFailure(("node(s) didn't match pod affinity rules",), for_good=True)
    for raw in wish.far:
        if _is_near(fields(raw), node, everybody, own):
            return FilterFailure(("node(s) didn't match pod anti-affinity rules",), for_good=False)
    return None


def _is_near(term: Object, node: NodeResources, everybody: list[NodeResources], own: str) -> bool:
    """Is a pod that the term means in the same place as the node?"""
    topology = text(term.get("topologyKey"))
    here = node.labels.get(topology)
    if here is None:
        return False
    return any(
        _matches(term, key, labels_of_pod, own)
        for other_node in everybody
        if other_node.labels.get(topology) == here
        for key, labels_of_pod in other_node.pods.items()
    )


def _matches(term: Object, key: tuple[str, str], labels: Object, own: str) -> bool:
    spaces = items(term.get("namespaces")) or [own]
    return (
        key[0] in spaces
        and isinstance(term.get("labelSelector"), dict)
        and selects(term.get("labelSelector"), labels)
    )


def unfit_message(refusals: list[FilterFailure], total: int) -> str:
    """Mirrors `FitError.Error` with what the plugins after the filters add."""
    counts: dict[str, int] = {}
    for refusal in refusals:
        for reason in refusal.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    reasons_text = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    helpless = sum(refusal.for_good for refusal in refusals)
    after: list[str] = []
    if helpless:
        after.append(f"{helpless} Preemption is not helpful for scheduling")
    if total - helpless:
        after.append(f"{total - helpless} No preemption victims found for incoming pod")
    available = f"0/{total} nodes are available:"
    preemption = f"preemption: {available} {', '.join(sorted(after))}."
    return f"{available} {reasons_text}. no new claims to deallocate, {preemption}"

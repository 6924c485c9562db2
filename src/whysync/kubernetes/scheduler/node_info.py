"""NodeInfo: a node with the resources, host ports and pods that the scheduler has assigned to it."""

from __future__ import annotations

from collections import Counter

import msgspec

from whysync.golang.quantity import milli_value
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.object_index import controller_of

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

"""The pods of a DaemonSet: bound to their node by an affinity, and not afraid of a sick one."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import annotations_of
from whysync.kubernetes.controllers.controller_revisions import HASH
from whysync.kubernetes.controllers.pod_control import pod_from
from whysync.kubernetes.scheduler.filters import NodeResources, refusal, wish_of

GENERATION: Final = "pod-template-generation"
_TOLD_GENERATION: Final = "deprecated.daemonset.template.generation"
_NODE: Final = "metadata.name"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_OF_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def generation_of(obj: Object) -> str:
    return text(annotations_of(obj).get(_TOLD_GENERATION))


def pod_for(obj: Object, node: str, hash: str) -> Object:
    template = fields(dig(obj, "spec", "template"))
    pod = pod_from(template, obj)
    meta = fields(pod.get("metadata"))
    labels: Object = {**fields(meta.get("labels")), HASH: hash}
    if generation_of(obj):
        labels[GENERATION] = generation_of(obj)
    spec = _tolerant(fields(pod.get("spec")))
    rule: Object = {"key": _NODE, "operator": "In", "values": [node]}
    affinity = fields(spec.get("affinity"))
    required = fields(dig(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
    chosen: Object = {**required, "nodeSelectorTerms": [{"matchFields": [rule]}]}
    bound: Object = {
        **fields(affinity.get("nodeAffinity")),
        "requiredDuringSchedulingIgnoredDuringExecution": chosen,
    }
    spec["affinity"] = {**affinity, "nodeAffinity": bound}
    labelled: Object = {**meta, "labels": labels}
    return {**pod, "metadata": labelled, "spec": spec}


def _tolerant(spec: Object) -> Object:
    wanted = [*_TOLERATED, _OF_HOST_NETWORK] if spec.get("hostNetwork") is True else _TOLERATED
    found = items(spec.get("tolerations"))
    new: list[Json] = [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in wanted
        if not any(_is(fields(one), key, effect) for one in found)
    ]
    return {**spec, "tolerations": [*found, *new]}


def _is(toleration: Object, key: str, effect: str) -> bool:
    return (
        toleration.get("key") == key
        and toleration.get("effect") == effect
        and toleration.get("operator") == "Exists"
    )


def node_of(pod: Object) -> str:
    """The node it is on, or the one it is meant for."""
    there = text(dig(pod, "spec", "nodeName"))
    if there:
        return there
    rule = dig(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items(fields(rule).get("nodeSelectorTerms")):
        for raw in items(fields(term).get("matchFields")):
            one = fields(raw)
            if one.get("key") == _NODE and one.get("operator") == "In":
                values = items(one.get("values"))
                return text(values[0]) if len(values) == 1 else ""
    return ""


def belongs_on(obj: Object, node: Object) -> tuple[bool, bool]:
    """Should a pod run on the node, and may one that does go on? Mirrors `NodeShouldRunDaemonPod`."""
    spec = _tolerant(fields(dig(obj, "spec", "template", "spec")))
    name = text(dig(node, "metadata", "name"))
    if text(spec.get("nodeName")) not in ("", name):
        return False, False
    # Room does not matter here: a pod that finds none waits for it.
    wish = wish_of({"metadata": {}, "spec": spec})._replace(requests={}, ports=(), near=[], far=[])
    room = NodeResources.of(node)
    room.unschedulable = False
    room.allocatable = {"pods": 1_000_000_000}
    if refusal(wish, room, []) is None:
        return True, True
    room.taints = [taint for taint in room.taints if taint.get("effect") == "NoExecute"]
    return False, refusal(wish, room, []) is None

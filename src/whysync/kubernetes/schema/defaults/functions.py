"""Defaults that depend on other fields, as functions.

Mirrors the `SetDefaults_*` functions of Kubernetes 1.36 that do more than set fields to constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from whysync.json_tree import Json, Object, copy, dig, fields, items, text

Fill: TypeAlias = Callable[[Object], None]
F = TypeVar("F", bound=Fill)

FILLS: Final[dict[str, Fill]] = {}


def fills(*types: str) -> Callable[[F], F]:
    """Register a function for types such as `core/v1.Container`; it may change its dict, not deeper ones."""

    def register(function: F) -> F:
        for name in types:
            FILLS[name] = function
        return function

    return register


def fill(obj: Object, **values: Json) -> None:
    """Sets a field that is absent, null or empty, which Go does not distinguish."""
    for key, value in values.items():
        if obj.get(key) in (None, ""):
            obj[key] = copy(value)


def own(obj: Object, key: str) -> Object:
    """The map at `key`, created if needed, and safe to change."""
    value = obj.get(key)
    mine: Object = dict(value) if isinstance(value, dict) else {}
    obj[key] = mine
    return mine


# Pods, containers and volumes

_VOLUME_SOURCES: Final = frozenset({"name"})
_PATH: Final = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}")


@lru_cache(maxsize=4096)
def _is_latest(image: str) -> bool:
    """Does the reference mean `latest`? One that cannot be parsed means nothing."""
    name, _, digest = image.partition("@")
    head, slash, tail = name.rpartition("/")
    tail, colon, tag = tail.partition(":")
    domain, has_path, path = (head + slash + tail).partition("/")
    if not has_path or not (
        "." in domain or ":" in domain or domain == "localhost" or domain.lower() != domain
    ):
        path = head + slash + tail
    if not _PATH.fullmatch(path) or (colon and not _TAG.fullmatch(tag)):
        return False
    return tag == "latest" or not (tag or digest)


def _pull_policy(image: Json) -> str:
    return "Always" if _is_latest(text(image)) else "IfNotPresent"


@fills("core/v1.Container", "core/v1.EphemeralContainer")
def container(obj: Object) -> None:
    if not obj.get("imagePullPolicy"):
        obj["imagePullPolicy"] = _pull_policy(obj.get("image"))
    fill(obj, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")


@fills("core/v1.Pod")
def pod(obj: Object) -> None:
    """What only a Pod of its own gets, not the template in a workload."""
    spec = own(obj, "spec")
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [_with_requests(item) for item in items(spec[group])]
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for group in ("containers", "initContainers"):
            if group in spec:
                spec[group] = [_with_host_ports(item) for item in items(spec[group])]


def _with_requests(item: Json) -> Json:
    """Limits without requests are requests."""
    resources = fields(fields(item).get("resources"))
    limits = resources.get("limits")
    if not isinstance(limits, dict):
        return item
    requests: Object = {**limits, **fields(resources.get("requests"))}
    return {**fields(item), "resources": {**resources, "requests": requests}}


def _with_host_ports(item: Json) -> Json:
    if "ports" not in fields(item):
        return item
    ports: list[Json] = [
        port
        if fields(port).get("hostPort")
        else {**fields(port), "hostPort": fields(port).get("containerPort")}
        for port in items(fields(item)["ports"])
    ]
    return {**fields(item), "ports": ports}


@fills("core/v1.Volume")
def volume(obj: Object) -> None:
    if not any(value is not None for key, value in obj.items() if key not in _VOLUME_SOURCES):
        obj["emptyDir"] = {}
    image = obj.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        obj["image"] = {**image, "pullPolicy": _pull_policy(image.get("reference"))}


# Workloads and autoscalers

_LARGEST: Final = 2**31 - 1

_CPU_METRIC: Final[Json] = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]
_SCALE_UP: Final[Object] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final[Object] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


def _inherit_labels(obj: Object, *, selector: bool) -> None:
    """Old versions took an absent selector, and absent labels, from the template."""
    labels = dig(obj, "spec", "template", "metadata", "labels")
    if not isinstance(labels, dict):
        return
    if selector and fields(obj.get("spec")).get("selector") is None:
        own(obj, "spec")["selector"] = {"matchLabels": copy(labels)}
    if not fields(obj.get("metadata")).get("labels"):
        own(obj, "metadata")["labels"] = copy(labels)


def _roll(strategy: Object, **values: Json) -> None:
    fill(own(strategy, "rollingUpdate"), **values)


@fills("apps/v1.Deployment", "apps/v1beta2.Deployment")
def deployment(obj: Object, *, history: int = 10) -> None:
    spec = own(obj, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=history, progressDeadlineSeconds=600)
    strategy = own(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _roll(strategy, maxUnavailable="25%", maxSurge="25%")


@fills("apps/v1beta1.Deployment")
def first_deployment(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    deployment(obj, history=2)


@fills("extensions/v1beta1.Deployment")
def old_deployment(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    spec = own(obj, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=_LARGEST, progressDeadlineSeconds=_LARGEST)
    strategy = own(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate" or strategy.get("rollingUpdate") is not None:
        _roll(strategy, maxUnavailable=1, maxSurge=1)


@fills("apps/v1.DaemonSet", "apps/v1beta2.DaemonSet")
def daemon_set(obj: Object, *, strategy_type: str = "RollingUpdate") -> None:
    spec = own(obj, "spec")
    fill(spec, revisionHistoryLimit=10)
    strategy = own(spec, "updateStrategy")
    fill(strategy, type=strategy_type)
    if strategy["type"] == "RollingUpdate":
        _roll(strategy, maxUnavailable=1, maxSurge=0)


@fills("extensions/v1beta1.DaemonSet")
def old_daemon_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    daemon_set(obj, strategy_type="OnDelete")


@fills("apps/v1.StatefulSet", "apps/v1beta2.StatefulSet")
def stateful_set(obj: Object, *, strategy_type: str = "RollingUpdate") -> None:
    spec = own(obj, "spec")
    fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = own(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = strategy_type
        if strategy_type == "RollingUpdate" and strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _roll(strategy, partition=0)
    fill(own(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")


@fills("apps/v1beta1.StatefulSet")
def first_stateful_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    stateful_set(obj, strategy_type="OnDelete")


@fills("extensions/v1beta1.ReplicaSet")
def old_replica_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)


@fills("core/v1.ReplicationController")
def replication_controller(obj: Object) -> None:
    labels = dig(obj, "spec", "template", "metadata", "labels")
    if isinstance(labels, dict) and not fields(obj.get("spec")).get("selector"):
        own(obj, "spec")["selector"] = copy(labels)
    _inherit_labels(obj, selector=False)


@fills("batch/v1.Job")
def job(obj: Object) -> None:
    _inherit_labels(obj, selector=False)
    spec = own(obj, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    fill(
        spec,
        parallelism=1,
        backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else _LARGEST,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
        manualSelector=False,
    )


@fills("autoscaling/v2.HorizontalPodAutoscaler")
def autoscaler(obj: Object) -> None:
    spec = own(obj, "spec")
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec["metrics"] = copy(_CPU_METRIC)
    if isinstance(spec.get("behavior"), dict):
        behavior = own(spec, "behavior")
        for direction, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            specified = {
                key: value for key, value in fields(behavior.get(direction)).items() if value is not None
            }
            behavior[direction] = {**fields(copy(rules)), **specified}


# Services, storage, access, policies

_RBAC: Final = "rbac.authorization.k8s.io"


@fills("core/v1.Service")
def service(obj: Object) -> None:
    spec = own(obj, "spec")
    fill(spec, sessionAffinity="None", type="ClusterIP")
    affinity, kind = spec["sessionAffinity"], spec["type"]
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = fields(fields(spec.get("sessionAffinityConfig")).get("clientIP"))
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    if isinstance(spec.get("ports"), list):
        spec["ports"] = [_service_port(port) for port in items(spec["ports"])]
    if _is_reachable_from_outside(spec):
        fill(spec, externalTrafficPolicy="Cluster")
    if kind in {"NodePort", "LoadBalancer", "ClusterIP"}:
        fill(spec, internalTrafficPolicy="Cluster")
    if kind == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
        _mark_addresses(obj)


def _service_port(port: Json) -> Json:
    new = dict(fields(port))
    fill(new, protocol="TCP")
    if new.get("targetPort") in (None, "", 0):
        new["targetPort"] = new.get("port")
    return new


def _is_reachable_from_outside(spec: Object) -> bool:
    return spec["type"] in {"LoadBalancer", "NodePort"} or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def _mark_addresses(obj: Object) -> None:
    balancer = fields(fields(obj.get("status")).get("loadBalancer"))
    if balancer.get("ingress"):
        ingress: list[Json] = [
            {"ipMode": "VIP", **fields(item)} if fields(item).get("ip") else item
            for item in items(balancer["ingress"])
        ]
        own(obj, "status")["loadBalancer"] = {**balancer, "ingress": ingress}


@fills("core/v1.Namespace")
def namespace(obj: Object) -> None:
    name = text(fields(obj.get("metadata")).get("name"))
    if name:
        own(own(obj, "metadata"), "labels")["kubernetes.io/metadata.name"] = name


@fills("core/v1.NodeStatus")
def node_status(obj: Object) -> None:
    if obj.get("allocatable") is None and isinstance(obj.get("capacity"), dict):
        obj["allocatable"] = dict(fields(obj["capacity"]))


@fills("core/v1.LimitRangeItem")
def limit_range_item(obj: Object) -> None:
    if obj.get("type") != "Container":
        return
    default = {**fields(obj.get("max")), **fields(obj.get("default"))}
    request = {**fields(obj.get("min")), **default, **fields(obj.get("defaultRequest"))}
    if default:
        obj["default"] = default
    if request:
        obj["defaultRequest"] = request


@fills("networking/v1.NetworkPolicy", "extensions/v1beta1.NetworkPolicy")
def network_policy(obj: Object) -> None:
    spec = own(obj, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


@fills("rbac/v1.Subject", "rbac/v1beta1.Subject")
def subject(obj: Object) -> None:
    if obj.get("kind") in {"User", "Group"}:
        fill(obj, apiGroup=_RBAC)

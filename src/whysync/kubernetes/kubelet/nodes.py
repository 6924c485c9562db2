"""Default nodes for clusters whose own nodes are not known."""

from __future__ import annotations

from whysync.json_tree import Json, Object
from whysync.kubernetes.apiserver.server import ApiServer

_NODES = ("", "nodes")


def ensure_nodes(api_server: ApiServer, count: int) -> None:
    """Add `node-1`, `node-2`, …, ready and with ample resources, unless the cluster has nodes."""
    if count <= 0 or any(True for _ in api_server.store.within(_NODES)):
        return
    api_server.load(
        [_node(f"node-{number}", number, api_server.clock.stamp()) for number in range(1, count + 1)]
    )


def _node(name: str, number: int, now: str) -> Object:
    # More pods than the kubelet's default of 110, so that 3 nodes are enough for thousands.
    resources: Object = {"cpu": "16", "ephemeral-storage": "100Gi", "memory": "64Gi", "pods": "2500"}
    conditions: list[Json] = [
        _condition(kind, status, reason, message, now)
        for kind, status, reason, message in (
            (
                "MemoryPressure",
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        )
    ]
    labels: Object = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": now},
        "spec": {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": f"172.18.0.{number + 1}"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "kubeletVersion": "v1.36.0",
                "operatingSystem": "linux",
            },
        },
    }


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }

"""How a workload replaces its pods after a change of its pod template: its update strategy."""

from __future__ import annotations

import msgspec

from whysync.json_tree import Object, dig, fields, integer, text


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    restarted: int
    """Number of running pods that are replaced."""
    how: str
    """`all at once (strategy Recreate)`; if none is replaced, why not."""


def restart_of(workload: Object, pods: int) -> Restart:
    """The restart of a workload with this number of running pods."""
    spec = fields(workload.get("spec"))
    match text(workload.get("kind")):
        case "Deployment" if spec.get("paused") is True:
            return Restart(restarted=0, how="it is paused: its pods are not restarted until it is resumed")
        case "Deployment" if dig(spec, "strategy", "type") == "Recreate":
            return Restart(restarted=pods, how="all at once: it is down meanwhile (strategy Recreate)")
        case "ReplicaSet":
            return Restart(restarted=0, how="its pods are not restarted: a ReplicaSet only creates new ones")
        case "StatefulSet" | "DaemonSet" if dig(spec, "updateStrategy", "type") == "OnDelete":
            how = "its pods are not restarted until they are deleted (update strategy OnDelete)"
            return Restart(restarted=0, how=how)
        case "StatefulSet":
            return _stateful_set(spec, pods)
        case "DaemonSet":
            return _daemon_set(spec, pods)
        case "Rollout":
            strategy = "blue-green" if dig(spec, "strategy", "blueGreen") else "canary"
            return Restart(restarted=pods, how=f"by the steps of its {strategy} strategy")
        case _:
            return Restart(restarted=pods, how="in a rolling update")


def _stateful_set(spec: Object, pods: int) -> Restart:
    """Pods below the partition keep the old template."""
    partition = integer(dig(spec, "updateStrategy", "rollingUpdate", "partition"))
    if partition >= pods > 0:
        return Restart(restarted=0, how=f"its pods are not restarted (partition {partition})")
    how = "one after the other" if partition == 0 else f"one after the other (partition {partition})"
    return Restart(restarted=pods - partition, how=how)


def _daemon_set(spec: Object, pods: int) -> Restart:
    limit = dig(spec, "updateStrategy", "rollingUpdate", "maxUnavailable")
    if limit in (1, "1") or not isinstance(limit, int | str):
        return Restart(restarted=pods, how="one node after the other")
    return Restart(restarted=pods, how=f"on up to {limit} of the nodes at a time")

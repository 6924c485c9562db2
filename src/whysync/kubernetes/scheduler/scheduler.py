"""The scheduler: assigns pods to nodes, or reports why no node fits.

Mirrors kube-scheduler 1.36 as far as the API shows it: the filter plugins (see `filters`), the VolumeBinding
plugin, and an even spread of pods in place of the score plugins. Unschedulable pods are retried when a node,
a pod or a claim changes in a way that may make them schedulable.
"""

from __future__ import annotations

from typing import Final, Literal

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    CLAIMS,
    NODES,
    PODS,
    Client,
    StatusError,
    annotations_of,
    is_terminating,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.conditions import condition, conditions_of, without
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind, controller_of
from whysync.kubernetes.controllers.storage import SELECTED_NODE, binding_mode, claim_names
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.scheduler.filters import (
    FilterFailure,
    NodeInfo,
    fit_error,
    pod_requirements,
    run_filter_plugins,
)

_TERMINAL_PHASES: Final = ("Succeeded", "Failed")
_WaitsFor = Literal["nodes", "pods", "claims"]


class Scheduler(QueueController):
    name = "scheduler"
    main = PODS

    def __init__(self, client: Client, behavior: ContainerBehavior) -> None:
        super().__init__(client)
        self._behavior = behavior
        self._nodes: dict[str, NodeInfo] = {}
        self._assigned_pods: dict[Key, Object] = {}
        """Pods with a node, as they were when they were assigned."""
        self._unschedulable_pods: dict[Key, _WaitsFor] = {}
        self._pods_by_claim: dict[Key, dict[Key, None]] = {}
        """Pods that wait for a PersistentVolumeClaim, by the claim."""

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({PODS, NODES, CLAIMS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind == NODES:
            self._on_node_event(change)
        elif kind == CLAIMS:
            for key in self._pods_by_claim.pop((namespace, name), {}):
                self.queue.add(key)
        else:
            self._on_pod_event(change, (namespace, name))

    def _on_node_event(self, change: Change) -> None:
        name = change.object_key[2]
        old = self._nodes.pop(name, None)
        if change.type != "DELETED":
            node = NodeInfo.of(change.obj)
            if old is None:
                for key, pod in self._assigned_pods.items():
                    if dig(pod, "spec", "nodeName") == name:
                        node.add_pod(key, pod)
            else:
                node.requested, node.pods = old.requested, old.pods
                node.used_ports, node.pods_by_owner = old.used_ports, old.pods_by_owner
            self._nodes[name] = node
        self._nodes = dict(sorted(self._nodes.items()))
        self._retry_unschedulable_pods()

    def _on_pod_event(self, change: Change, key: Key) -> None:
        pod = change.obj
        node_name = text(fields(pod.get("spec")).get("nodeName"))
        if change.type == "DELETED" or fields(pod.get("status")).get("phase") in _TERMINAL_PHASES:
            self._unschedulable_pods.pop(key, None)
            if key in self._assigned_pods:
                self._remove_pod(key)
                self._retry_unschedulable_pods()
        elif node_name:
            self._unschedulable_pods.pop(key, None)
            if key not in self._assigned_pods:
                self._assigned_pods[key] = pod
                if node_name in self._nodes:
                    self._nodes[node_name].add_pod(key, pod)
                self._retry_pods_with_affinity()
        elif key not in self._unschedulable_pods or change.type == "ADDED":
            self.queue.add(key)

    def _remove_pod(self, key: Key) -> None:
        pod = self._assigned_pods.pop(key)
        node = self._nodes.get(text(dig(pod, "spec", "nodeName")))
        if node is not None and key in node.pods:
            node.remove_pod(key, pod)

    def _retry_unschedulable_pods(self) -> None:
        """Queues the pods that no node fitted: a node changed, or a pod released its resources."""
        for key, waits_for in self._unschedulable_pods.items():
            if waits_for != "claims":
                self.queue.add(key)

    def _retry_pods_with_affinity(self) -> None:
        """Queues the pods that must run beside another one: a pod was assigned to a node."""
        for key, waits_for in self._unschedulable_pods.items():
            if waits_for == "pods":
                self.queue.add(key)

    def forget(self, key: Key) -> None:
        self._unschedulable_pods.pop(key, None)

    # -- scheduling cycle -------------------------------------------------------------------------

    def sync(self, obj: Object) -> None:
        """Mirrors `scheduleOne`."""
        phase = text(dig(obj, "status", "phase"))
        if dig(obj, "spec", "nodeName") or is_terminating(obj) or phase not in ("", "Pending"):
            return
        if items(dig(obj, "spec", "schedulingGates")):
            return  # the API server sets the condition SchedulingGated
        key = (namespace_of(obj), name_of(obj))
        self._unschedulable_pods.pop(key, None)
        total = len(self._nodes)
        reason = self._behavior.unschedulable(obj)
        if reason:
            failures = [FilterFailure((reason,), unresolvable=True)] * total
            self._handle_scheduling_failure(obj, fit_error(failures, total))
            return
        reason = self._volume_binding_pre_filter(obj, key)
        if reason:
            message = f"0/{total} nodes are available: {reason}. not found"
            self._handle_scheduling_failure(obj, message, "claims")
            return
        self._schedule_pod(obj, key)

    def _schedule_pod(self, pod: Object, key: Key) -> None:
        if not self._nodes:
            self._handle_scheduling_failure(pod, "no nodes available to schedule pods")
            return
        requirements = pod_requirements(pod)
        owner = text(controller_of(pod).get("uid"))
        failures: list[FilterFailure] = []
        best: tuple[int, int, str] | None = None
        for name, node in self._nodes.items():
            failure = run_filter_plugins(requirements, node, self._nodes.values())
            if failure is not None:
                failures.append(failure)
                continue
            rank = (node.pods_by_owner[owner] if owner else 0, len(node.pods), name)
            best = rank if best is None or rank < best else best
        if best is None:
            waits_for: _WaitsFor = "pods" if requirements.affinity_terms else "nodes"
            self._handle_scheduling_failure(pod, fit_error(failures, len(self._nodes)), waits_for)
        elif self._pre_bind_volumes(pod, key, best[2]):
            self._bind(pod, key, best[2])

    def _bind(self, pod: Object, key: Key, node: str) -> None:
        """Binds the pod through the `binding` subresource, which does not change managedFields."""
        scheduled = self._pod_scheduled(pod, {"status": "True"}, self.client.stamp())
        bound: Object = {
            **pod,
            "spec": {**fields(pod.get("spec")), "nodeName": node},
            "status": {
                **fields(pod.get("status")),
                "conditions": [*without(conditions_of(pod), "PodScheduled"), scheduled],
            },
        }
        stored = self.client.api_server.store.put((PODS, *key), bound)
        self._assigned_pods[key] = stored
        self._nodes[node].add_pod(key, stored)
        self._retry_pods_with_affinity()
        message = f"Successfully assigned {key[0]}/{key[1]} to {node}"
        self.client.event(stored, "Normal", "Scheduled", message, "default-scheduler")

    def _handle_scheduling_failure(self, pod: Object, message: str, waits_for: _WaitsFor = "nodes") -> None:
        key = (namespace_of(pod), name_of(pod))
        self._unschedulable_pods[key] = waits_for
        self.client.event(pod, "Warning", "FailedScheduling", message, "default-scheduler")
        conditions = conditions_of(pod)
        old = condition(conditions, "PodScheduled")
        since = text(old.get("lastTransitionTime")) if old.get("status") == "False" else self.client.stamp()
        unschedulable = self._pod_scheduled(
            pod, {"status": "False", "reason": "Unschedulable", "message": message}, since
        )
        self.client.update_status(
            pod,
            {
                **fields(pod.get("status")),
                "conditions": [*without(conditions, "PodScheduled"), unschedulable],
            },
        )

    @staticmethod
    def _pod_scheduled(pod: Object, state: Object, since: str) -> Object:
        """The condition PodScheduled."""
        scheduled: Object = {
            "type": "PodScheduled",
            "lastProbeTime": None,
            "lastTransitionTime": since,
            **state,
        }
        generation = dig(pod, "metadata", "generation")
        if isinstance(generation, int):
            scheduled["observedGeneration"] = generation
        return scheduled

    # -- the VolumeBinding plugin -----------------------------------------------------------------

    def _volume_binding_pre_filter(self, pod: Object, key: Key) -> str:
        """Why the pod's claims make it unschedulable; empty if they do not."""
        namespace = key[0]
        unbound = False
        for name, is_ephemeral in claim_names(pod):
            claim = self.client.get(CLAIMS, namespace, name)
            if claim is None:
                self._wait_for_claim(key, name)
                if is_ephemeral:
                    return (
                        "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                        f'"{name}"'
                    )
                return f'persistentvolumeclaim "{name}" not found'
            phase, volume = text(dig(claim, "status", "phase")), text(dig(claim, "spec", "volumeName"))
            if phase == "Lost" or is_terminating(claim):
                self._wait_for_claim(key, name)
                if is_terminating(claim):
                    return f'persistentvolumeclaim "{name}" is being deleted'
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if phase != "Bound" and binding_mode(self.client, claim) != "WaitForFirstConsumer":
                self._wait_for_claim(key, name)
                unbound = True
        return "pod has unbound immediate PersistentVolumeClaims" if unbound else ""

    def _pre_bind_volumes(self, pod: Object, key: Key, node: str) -> bool:
        """Sets the selected node on WaitForFirstConsumer claims; true once all claims are bound."""
        all_bound = True
        for name, _ in claim_names(pod):
            claim = self.client.get(CLAIMS, key[0], name)
            if claim is None or dig(claim, "status", "phase") == "Bound":
                continue
            all_bound = False
            self._wait_for_claim(key, name)
            if SELECTED_NODE not in annotations_of(claim):
                annotations: Object = {**annotations_of(claim), SELECTED_NODE: node}
                meta: Object = {**fields(claim.get("metadata")), "annotations": annotations}
                try:
                    self.client.update({**claim, "metadata": meta})
                except StatusError:
                    continue
        if not all_bound:
            self._unschedulable_pods[key] = "claims"
        return all_bound

    def _wait_for_claim(self, key: Key, claim: str) -> None:
        self._pods_by_claim.setdefault((key[0], claim), {})[key] = None

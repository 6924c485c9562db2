"""The scheduler: gives pods a node, or says why none takes them.

Mirrors kube-scheduler 1.36 as far as clusters show it: filters (see `fitting`), claims that must be bound
first, and an even spread in place of its scores. Pods that found no node are tried again when something
changed that could help them.
"""

from __future__ import annotations

from typing import Final, Literal

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    CLAIMS,
    NODES,
    PODS,
    Client,
    Denied,
    annotations_of,
    is_leaving,
    labels_of,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind, controller_of
from whysync.kubernetes.controllers.storage import SELECTED_NODE, binding_mode, claim_names
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior
from whysync.kubernetes.scheduler.filters import (
    FilterFailure,
    NodeResources,
    host_ports,
    refusal,
    unfit_message,
    wish_of,
)
from whysync.kubernetes.scheduler.resources import requests_of

_OVER: Final = ("Succeeded", "Failed")
_Blocked = Literal["nodes", "claims"]


class Scheduler(QueueController):
    name = "scheduler"
    main = PODS

    def __init__(self, client: Client, behaviour: ContainerBehavior) -> None:
        super().__init__(client)
        self._behaviour = behaviour
        self._nodes: dict[str, NodeResources] = {}
        self._held: dict[Key, Object] = {}
        """Pods that take room, as they were when they took it."""
        self._blocked: dict[Key, _Blocked] = {}
        self._by_claim: dict[Key, dict[Key, None]] = {}

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({PODS, NODES, CLAIMS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.place
        if kind == NODES:
            self._hear_node(change)
        elif kind == CLAIMS:
            for key in self._by_claim.pop((namespace, name), {}):
                self.queue.add(key)
        else:
            self._hear_pod(change, (namespace, name))

    def _hear_node(self, change: Change) -> None:
        name = change.place[2]
        old = self._nodes.pop(name, None)
        if change.type != "DELETED":
            room = NodeResources.of(change.obj)
            if old is not None:
                room.used, room.pods, room.ports, room.by_owner = old.used, old.pods, old.ports, old.by_owner
            self._nodes[name] = room
            if old is None:
                for key, pod in self._held.items():
                    if dig(pod, "spec", "nodeName") == name:
                        self._take(key, pod, room)
        self._nodes = dict(sorted(self._nodes.items()))
        self._try_again()

    def _hear_pod(self, change: Change, key: Key) -> None:
        pod = change.obj
        node = text(fields(pod.get("spec")).get("nodeName"))
        if change.type == "DELETED" or fields(pod.get("status")).get("phase") in _OVER:
            self._blocked.pop(key, None)
            if key in self._held:
                self._release(key)
                self._try_again()
        elif node:
            self._blocked.pop(key, None)
            if key not in self._held:
                self._held[key] = pod
                if node in self._nodes:
                    self._take(key, pod, self._nodes[node])
        elif key not in self._blocked or change.type == "ADDED":
            self.queue.add(key)

    def _try_again(self) -> None:
        """Room was made, or a node changed: that helps those who wait for one."""
        for key, why in self._blocked.items():
            if why == "nodes":
                self.queue.add(key)

    # -- room -------------------------------------------------------------------------------------

    def _take(self, key: Key, pod: Object, room: NodeResources, sign: int = 1) -> None:
        for name, amount in requests_of(pod).items():
            room.used[name] = room.used.get(name, 0) + sign * amount
        for port in host_ports(pod):
            room.ports[port] = room.ports.get(port, 0) + sign
            if room.ports[port] <= 0:
                del room.ports[port]
        owner = text(controller_of(pod).get("uid"))
        room.by_owner[owner] = room.by_owner.get(owner, 0) + sign
        if sign > 0:
            room.pods[key] = labels_of(pod)
        else:
            room.pods.pop(key, None)
            if not room.by_owner[owner]:
                del room.by_owner[owner]

    def _release(self, key: Key) -> None:
        pod = self._held.pop(key)
        room = self._nodes.get(text(dig(pod, "spec", "nodeName")))
        if room is not None and key in room.pods:
            self._take(key, pod, room, sign=-1)

    # -- scheduling -------------------------------------------------------------------------------

    def gone(self, key: Key) -> None:
        self._blocked.pop(key, None)

    def sync(self, obj: Object) -> None:
        phase = text(dig(obj, "status", "phase"))
        if dig(obj, "spec", "nodeName") or is_leaving(obj) or phase not in ("", "Pending"):
            return
        if items(dig(obj, "spec", "schedulingGates")):
            return  # the API server has said so in the pod's condition
        key = (namespace_of(obj), name_of(obj))
        self._blocked.pop(key, None)
        reason = self._behaviour.unschedulable(obj)
        if reason:
            total = len(self._nodes)
            self._refuse(obj, unfit_message([FilterFailure((reason,), for_good=True)] * total, total))
            return
        waiting = self._claims_wait(obj, key)
        if waiting is not None:
            if waiting:
                self._refuse(obj, f"0/{len(self._nodes)} nodes are available: {waiting}. not found", "claims")
            return
        self._place(obj, key)

    def _place(self, pod: Object, key: Key) -> None:
        if not self._nodes:
            self._refuse(pod, "no nodes available to schedule pods")
            return
        wish = wish_of(pod)
        owner = text(controller_of(pod).get("uid"))
        refusals: list[FilterFailure] = []
        best: tuple[int, int, str] | None = None
        for name, room in self._nodes.items():
            no = refusal(wish, room, self._nodes.values())
            if no is not None:
                refusals.append(no)
                continue
            rank = (room.by_owner.get(owner, 0) if owner else 0, len(room.pods), name)
            best = rank if best is None or rank < best else best
        if best is None:
            self._refuse(pod, unfit_message(refusals, len(self._nodes)))
        elif self._volumes_ready(pod, key, best[2]):
            self._bind(pod, key, best[2])

    def _bind(self, pod: Object, key: Key, node: str) -> None:
        """Binds the pod through the `binding` subresource, which does not change managedFields."""
        scheduled: Object = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": self.client.stamp(),
        }
        generation = dig(pod, "metadata", "generation")
        if isinstance(generation, int):
            scheduled["observedGeneration"] = generation
        status = fields(pod.get("status"))
        others: list[Json] = [
            condition
            for condition in items(status.get("conditions"))
            if fields(condition).get("type") != "PodScheduled"
        ]
        bound: Object = {
            **pod,
            "spec": {**fields(pod.get("spec")), "nodeName": node},
            "status": {**status, "conditions": [*others, scheduled]},
        }
        kept = self.client.api_server.store.put((PODS, *key), bound)
        self._held[key] = kept
        self._take(key, kept, self._nodes[node])
        message = f"Successfully assigned {key[0]}/{key[1]} to {node}"
        self.client.event(kept, "Normal", "Scheduled", message, "default-scheduler")

    def _refuse(self, pod: Object, message: str, why: _Blocked = "nodes") -> None:
        key = (namespace_of(pod), name_of(pod))
        self._blocked[key] = why
        self.client.event(pod, "Warning", "FailedScheduling", message, "default-scheduler")
        status = fields(pod.get("status"))
        conditions = items(status.get("conditions"))
        before = fields(
            next(
                (condition for condition in conditions if fields(condition).get("type") == "PodScheduled"),
                None,
            )
        )
        moved = before.get("lastTransitionTime") if before.get("status") == "False" else self.client.stamp()
        unscheduled: Object = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": moved,
            "reason": "Unschedulable",
            "message": message,
        }
        generation = dig(pod, "metadata", "generation")
        if isinstance(generation, int):
            unscheduled["observedGeneration"] = generation
        others: list[Json] = [
            condition for condition in conditions if fields(condition).get("type") != "PodScheduled"
        ]
        self.client.update_status(pod, {**status, "conditions": [*others, unscheduled]})

    # -- claims -----------------------------------------------------------------------------------

    def _claims_wait(self, pod: Object, key: Key) -> str | None:
        """Why its claims keep the pod waiting; `None` when they do not."""
        namespace = key[0]
        unbound = False
        for name, own in claim_names(pod):
            claim = self.client.get(CLAIMS, namespace, name)
            if claim is None:
                self._by_claim.setdefault((namespace, name), {})[key] = None
                if own:
                    return (
                        "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                        f'"{name}"'
                    )
                return f'persistentvolumeclaim "{name}" not found'
            phase, volume = text(dig(claim, "status", "phase")), text(dig(claim, "spec", "volumeName"))
            if phase == "Lost" or is_leaving(claim):
                self._by_claim.setdefault((namespace, name), {})[key] = None
                if is_leaving(claim):
                    return f'persistentvolumeclaim "{name}" is being deleted'
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            if phase != "Bound" and binding_mode(self.client, claim) != "WaitForFirstConsumer":
                self._by_claim.setdefault((namespace, name), {})[key] = None
                unbound = True
        return "pod has unbound immediate PersistentVolumeClaims" if unbound else None

    def _volumes_ready(self, pod: Object, key: Key, node: str) -> bool:
        """Sets the selected node on claims that wait for a pod; the pod is bound after them."""
        ready = True
        for name, _ in claim_names(pod):
            claim = self.client.get(CLAIMS, key[0], name)
            if claim is None or dig(claim, "status", "phase") == "Bound":
                continue
            ready = False
            self._by_claim.setdefault((key[0], name), {})[key] = None
            if SELECTED_NODE not in annotations_of(claim):
                meta = fields(claim.get("metadata"))
                marks: Object = {**annotations_of(claim), SELECTED_NODE: node}
                annotated: Object = {**claim, "metadata": {**meta, "annotations": marks}}
                try:
                    self.client.update(annotated)
                except Denied:
                    continue
        if not ready:
            self._blocked[key] = "claims"
        return ready

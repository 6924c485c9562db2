"""DaemonSet controller: one pod on every eligible node.

Mirrors `pkg/controller/daemon`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    DAEMON_SETS,
    NODES,
    PODS,
    REVISIONS,
    Client,
    StatusError,
    annotations_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
from whysync.kubernetes.controllers.controller_revisions import (
    REVISION_HASH,
    RevisionHistory,
    revision_hash_of,
)
from whysync.kubernetes.controllers.deployment import scaled_value_from_int_or_percent
from whysync.kubernetes.controllers.pod_control import (
    Failure,
    claim_objects,
    create_pod,
    delete_pod,
    is_available,
    is_finished,
    is_ready,
    next_available,
    phase_of,
    pod_from_template,
)
from whysync.kubernetes.controllers.template_hash import template_hash
from whysync.kubernetes.scheduler.filters import NodeInfo, node_affinity, pod_requirements, taint_toleration

_COMPONENT: Final = "daemonset-controller"
_DEFAULT_HISTORY_LIMIT: Final = 10


class DaemonSetController(QueueController):
    name = "daemonset"
    main = DAEMON_SETS
    owner_kind = "DaemonSet"
    dependents = frozenset({PODS, REVISIONS, NODES})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()
        self._failed_pods_backoff = Backoff()
        self._nodes: dict[str, Object] = {}

    def keys_of(self, change: Change) -> Iterable[Key]:
        if change.object_key[0] != NODES:
            return super().keys_of(change)
        # Heartbeats of a node do not affect DaemonSets.
        meta, spec = fields(change.obj.get("metadata")), change.obj.get("spec")
        relevant: Object = {"labels": meta.get("labels"), "spec": spec}
        if change.type == "MODIFIED" and self._nodes.get(change.object_key[2]) == relevant:
            return ()
        self._nodes[change.object_key[2]] = relevant
        return [
            (namespace_of(daemon_set), name_of(daemon_set)) for daemon_set in self.client.list(DAEMON_SETS)
        ]

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        if is_terminating(obj):
            return
        key = (namespace_of(obj), name_of(obj))
        sync_run = _DaemonSetSync(self.client, obj, self._failed_pods_backoff)
        try:
            succeeded = sync_run.sync_daemon_set()
        except StatusError:
            succeeded = False
        if not succeeded:
            self.enqueue_after(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        if sync_run.requeue_seconds is not None:
            self.enqueue_after(obj, sync_run.requeue_seconds)
        min_ready_seconds = integer(dig(obj, "spec", "minReadySeconds"))
        when = (
            next_available(self.client.owned(PODS, obj), min_ready_seconds, self.client.now)
            if min_ready_seconds
            else None
        )
        if when is not None:
            self.enqueue_at(obj, when)


class _DaemonSetSync:
    def __init__(self, client: Client, obj: Object, failed: Backoff) -> None:
        self._client = client
        self._obj = obj
        self._failed_pods_backoff = failed
        self._min_ready_seconds = integer(dig(obj, "spec", "minReadySeconds"))
        self._node_decisions = {
            name_of(node): node_should_run_daemon_pod(obj, node) for node in client.list(NODES)
        }
        self.requeue_seconds: float | None = None

    def sync_daemon_set(self) -> bool:
        history = RevisionHistory(self._client, self._obj)
        revisions = history.all()
        collision_count = dig(self._obj, "status", "collisionCount")
        self._collisions = collision_count if isinstance(collision_count, int) else None
        current = history.get_or_create(self._hash(), revisions)
        while current is None:
            self._collisions = (self._collisions or 0) + 1
            current = history.get_or_create(self._hash(), revisions)
        self._current_hash = text(labels_of(current).get(REVISION_HASH))
        succeeded = self._manage()
        if succeeded and dig(self._obj, "spec", "updateStrategy", "type") != "OnDelete":
            succeeded = self._rolling_update()
        used = {name_of(current)} | {
            name_of(revision)
            for revision in revisions
            if any(revision_hash_of(pod) == revision_hash_of(revision) for pod in self._pods())
        }
        limit = integer(dig(self._obj, "spec", "revisionHistoryLimit"), _DEFAULT_HISTORY_LIMIT)
        history.truncate_history(history.all(), used, limit)
        self._update_daemon_set_status()
        return succeeded

    def _hash(self) -> str:
        return template_hash(fields(dig(self._obj, "spec", "template")), self._collisions)

    def _pods(self) -> list[Object]:
        selector = fields(self._obj.get("spec")).get("selector")
        return claim_objects(self._client, PODS, self._obj, selector)

    def _get_node_to_daemon_pods(self) -> dict[str, list[Object]]:
        """The pods on each node, the oldest first, without finished pods that are terminating."""
        pods_by_node: dict[str, list[Object]] = {}
        for pod in sorted(self._pods(), key=_schedule_order):
            if not (is_finished(pod) and is_terminating(pod)):
                pods_by_node.setdefault(_target_node(pod), []).append(pod)
        return pods_by_node

    # -- creation and deletion --------------------------------------------------------------------

    def _manage(self) -> bool:
        pods_by_node = self._get_node_to_daemon_pods()
        nodes_needing_pods: list[str] = []
        pods_to_delete: list[Object] = []
        for node, (should_run, should_continue) in self._node_decisions.items():
            pods = pods_by_node.get(node, [])
            if should_run and not pods:
                nodes_needing_pods.append(node)
            elif should_continue:
                running = self._pods_to_keep(node, pods, pods_to_delete)
                if self._max_surge():
                    if not running and should_run:
                        nodes_needing_pods.append(node)
                    pods_to_delete.extend(self._surplus_with_surge(running))
                else:
                    pods_to_delete.extend(running[1:])
            else:
                pods_to_delete.extend(pod for pod in pods if not is_terminating(pod))
        for node, pods in pods_by_node.items():
            if node not in self._node_decisions:
                pods_to_delete.extend(pod for pod in pods if not text(dig(pod, "spec", "nodeName")))
        return self._sync_nodes(pods_to_delete, nodes_needing_pods)

    def _pods_to_keep(self, node: str, pods: list[Object], pods_to_delete: list[Object]) -> list[Object]:
        running: list[Object] = []
        for pod in pods:
            if is_terminating(pod):
                continue
            subject = f"daemon pod {namespace_of(pod)}/{name_of(pod)} on node {node}"
            if phase_of(pod) == "Failed":
                key = (namespace_of(pod) + "/" + name_of(self._obj), node)
                self.requeue_seconds = self._failed_pods_backoff.next(key)
                self._event("Warning", "FailedDaemonPod", f"Found failed {subject}, will try to kill it")
                pods_to_delete.append(pod)
            elif phase_of(pod) == "Succeeded":
                message = f"Found succeeded {subject}, will try to delete it"
                self._event("Normal", "SucceededDaemonPod", message)
                pods_to_delete.append(pod)
            else:
                running.append(pod)
        return running

    def _surplus_with_surge(self, running: list[Object]) -> list[Object]:
        """With maxSurge, an old and a new pod may coexist until the new one is available."""
        new = [pod for pod in running if self._is_updated(pod)]
        old = [pod for pod in running if not self._is_updated(pod)]
        surplus = [*new[1:], *old[1:]]
        if new and old and (not is_ready(old[0]) or self._is_available(new[0])):
            surplus.append(old[0])
        return surplus

    def _sync_nodes(self, pods_to_delete: list[Object], nodes_needing_pods: list[str]) -> bool:
        created = [
            create_pod(
                self._client, self._obj, _new_daemon_pod(self._obj, node, self._current_hash), _COMPONENT
            )
            for node in nodes_needing_pods
        ]
        deleted = [delete_pod(self._client, self._obj, pod, _COMPONENT) for pod in pods_to_delete]
        return not any(isinstance(outcome, Failure) for outcome in (*created, *deleted))

    # -- rolling update ---------------------------------------------------------------------------

    def _max_surge(self) -> int:
        return scaled_value_from_int_or_percent(
            self._rolling_update_field("maxSurge"), self._desired_number_scheduled(), round_up=True
        )

    def _rolling_update_field(self, key: str) -> str | int:
        value = dig(self._obj, "spec", "updateStrategy", "rollingUpdate", key)
        return value if isinstance(value, (str, int)) else 0

    def _desired_number_scheduled(self) -> int:
        return sum(1 for runs, _ in self._node_decisions.values() if runs)

    def _rolling_update(self) -> bool:
        max_surge, unavailable = (
            self._max_surge(),
            scaled_value_from_int_or_percent(
                self._rolling_update_field("maxUnavailable"), self._desired_number_scheduled(), round_up=True
            ),
        )
        if not max_surge and not unavailable:
            unavailable = 1
        pods_by_node = self._get_node_to_daemon_pods()
        return (
            self._roll_with_max_surge(pods_by_node, max_surge)
            if max_surge
            else self._roll_with_max_unavailable(pods_by_node, unavailable)
        )

    def _roll_with_max_unavailable(self, pods_by_node: dict[str, list[Object]], max_unavailable: int) -> bool:
        unavailable = 0
        unavailable_pods: list[Object] = []
        available_pods: list[Object] = []
        for node in sorted(pods_by_node):
            pods = [pod for pod in pods_by_node[node] if not is_terminating(pod)]
            if len(pods) != 1:
                unavailable += 1
            elif self._is_updated(pods[0]):
                unavailable += 0 if self._is_available(pods[0]) else 1
            elif self._is_available(pods[0]):
                available_pods.append(pods[0])
            else:
                unavailable_pods.append(pods[0])
                unavailable += 1
        return self._sync_nodes(
            [*unavailable_pods, *available_pods[: max(max_unavailable - unavailable, 0)]], []
        )

    def _roll_with_max_surge(self, pods_by_node: dict[str, list[Object]], max_surge: int) -> bool:
        surging = 0
        pods_to_delete: list[Object] = []
        allowed: list[str] = []
        candidates: list[str] = []
        for node in sorted(pods_by_node):
            pods = [pod for pod in pods_by_node[node] if not is_terminating(pod)]
            new = next((pod for pod in pods if self._is_updated(pod)), None)
            old = next((pod for pod in pods if not self._is_updated(pod)), None)
            if old is None:
                continue
            if new is None:
                (candidates if self._is_available(old) else allowed).append(node)
            elif self._is_available(new):
                pods_to_delete.append(old)
            else:
                surging += 1
        return self._sync_nodes(pods_to_delete, [*allowed, *candidates[: max(max_surge - surging, 0)]])

    def _is_updated(self, pod: Object) -> bool:
        generation = _template_generation(self._obj)
        pod_generation = labels_of(pod).get(_TEMPLATE_GENERATION_LABEL)
        return revision_hash_of(pod) == self._current_hash or (
            bool(generation) and pod_generation == generation
        )

    def _is_available(self, pod: Object) -> bool:
        return is_available(pod, self._min_ready_seconds, self._client.now)

    # -- status -----------------------------------------------------------------------------------

    def _update_daemon_set_status(self) -> None:
        pods_by_node = self._get_node_to_daemon_pods()
        nodes = [node for node, (nodes, _) in self._node_decisions.items() if nodes]
        first_pods = [pods_by_node[node][0] for node in nodes if pods_by_node.get(node)]
        available = sum(1 for pod in first_pods if self._is_available(pod))
        status: Object = {
            "currentNumberScheduled": len(first_pods),
            "numberMisscheduled": sum(
                1 for node in self._node_decisions if node in pods_by_node and node not in nodes
            ),
            "desiredNumberScheduled": len(nodes),
            "numberReady": sum(1 for pod in first_pods if is_ready(pod)),
            "observedGeneration": integer(dig(self._obj, "metadata", "generation")),
        }
        updated = sum(1 for pod in first_pods if self._is_updated(pod))
        counts = {
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": len(nodes) - available,
        }
        status.update({key: count for key, count in counts.items() if count})
        if self._collisions is not None:
            status["collisionCount"] = self._collisions
        self._client.update_status(self._obj, status)

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)


def _schedule_order(pod: Object) -> tuple[bool, str, str]:
    """Sort key: scheduled pods first, then the oldest."""
    on_node = bool(text(dig(pod, "spec", "nodeName")))
    return not on_node, text(dig(pod, "metadata", "creationTimestamp")), name_of(pod)


_TEMPLATE_GENERATION_LABEL: Final = "pod-template-generation"
_TEMPLATE_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_NODE_NAME_FIELD: Final = "metadata.name"
_DAEMON_TOLERATIONS: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_HOST_NETWORK_TOLERATION: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def _template_generation(obj: Object) -> str:
    return text(annotations_of(obj).get(_TEMPLATE_GENERATION_ANNOTATION))


def _new_daemon_pod(obj: Object, node: str, hash: str) -> Object:
    template = fields(dig(obj, "spec", "template"))
    pod = pod_from_template(template, obj)
    meta = fields(pod.get("metadata"))
    labels: Object = {**fields(meta.get("labels")), REVISION_HASH: hash}
    if _template_generation(obj):
        labels[_TEMPLATE_GENERATION_LABEL] = _template_generation(obj)
    spec = _with_daemon_tolerations(fields(pod.get("spec")))
    requirement: Object = {"key": _NODE_NAME_FIELD, "operator": "In", "values": [node]}
    affinity = fields(spec.get("affinity"))
    required = fields(dig(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"))
    node_selector: Object = {**required, "nodeSelectorTerms": [{"matchFields": [requirement]}]}
    node_affinity: Object = {
        **fields(affinity.get("nodeAffinity")),
        "requiredDuringSchedulingIgnoredDuringExecution": node_selector,
    }
    spec["affinity"] = {**affinity, "nodeAffinity": node_affinity}
    pod_meta: Object = {**meta, "labels": labels}
    return {**pod, "metadata": pod_meta, "spec": spec}


def _with_daemon_tolerations(spec: Object) -> Object:
    added_tolerations = (
        [*_DAEMON_TOLERATIONS, _HOST_NETWORK_TOLERATION]
        if spec.get("hostNetwork") is True
        else _DAEMON_TOLERATIONS
    )
    tolerations = items(spec.get("tolerations"))
    new: list[Json] = [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in added_tolerations
        if not any(_is_toleration(fields(toleration), key, effect) for toleration in tolerations)
    ]
    return {**spec, "tolerations": [*tolerations, *new]}


def _is_toleration(toleration: Object, key: str, effect: str) -> bool:
    return (
        toleration.get("key") == key
        and toleration.get("effect") == effect
        and toleration.get("operator") == "Exists"
    )


def _target_node(pod: Object) -> str:
    """The node of the pod, or the one in its node affinity. Mirrors `GetTargetNodeName`."""
    node_name = text(dig(pod, "spec", "nodeName"))
    if node_name:
        return node_name
    required = dig(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items(fields(required).get("nodeSelectorTerms")):
        for raw in items(fields(term).get("matchFields")):
            requirement = fields(raw)
            if requirement.get("key") == _NODE_NAME_FIELD and requirement.get("operator") == "In":
                values = items(requirement.get("values"))
                return text(values[0]) if len(values) == 1 else ""
    return ""


def node_should_run_daemon_pod(obj: Object, node: Object) -> tuple[bool, bool]:
    """Should a pod run on the node, and should a running one continue? Mirrors `NodeShouldRunDaemonPod`."""
    spec = _with_daemon_tolerations(fields(dig(obj, "spec", "template", "spec")))
    name = text(dig(node, "metadata", "name"))
    if text(spec.get("nodeName")) not in ("", name):
        return False, False
    requirements, node_info = pod_requirements({"spec": spec}), NodeInfo.of(node)
    if node_affinity(requirements, node_info) is not None:
        return False, False
    if taint_toleration(requirements, node_info.taints) is None:
        return True, True
    no_execute = [taint for taint in node_info.taints if taint.get("effect") == "NoExecute"]
    return False, taint_toleration(requirements, no_execute) is None

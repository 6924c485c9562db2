"""DaemonSets: one pod on every node that takes it.

Mirrors `pkg/controller/daemon`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.backoff import Backoff
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
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.controller_revisions import (
    REVISION_HASH,
    RevisionHistory,
    revision_hash_of,
)
from whysync.kubernetes.controllers.deployment_util import scaled_value_from_int_or_percent
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
from whysync.kubernetes.scheduler.filters import node_affinity, pod_requirements, taint_toleration
from whysync.kubernetes.scheduler.node_info import NodeInfo

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
        if change.place[0] != NODES:
            return super().keys_of(change)
        # A node that only tells that it lives changes nothing.
        meta, spec = fields(change.obj.get("metadata")), change.obj.get("spec")
        now: Object = {"labels": meta.get("labels"), "spec": spec}
        if change.type == "MODIFIED" and self._nodes.get(change.place[2]) == now:
            return ()
        self._nodes[change.place[2]] = now
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
            fine = sync_run.sync_daemon_set()
        except StatusError:
            fine = False
        if not fine:
            self.enqueue_after(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        if sync_run.requeue_seconds is not None:
            self.enqueue_after(obj, sync_run.requeue_seconds)
        seconds = integer(dig(obj, "spec", "minReadySeconds"))
        when = next_available(self.client.owned(PODS, obj), seconds, self.client.now) if seconds else None
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
        known = history.all()
        before = dig(self._obj, "status", "collisionCount")
        self._collisions = before if isinstance(before, int) else None
        current = history.get_or_create(self._hash(), known)
        while current is None:
            self._collisions = (self._collisions or 0) + 1
            current = history.get_or_create(self._hash(), known)
        self._current_hash = text(labels_of(current).get(REVISION_HASH))
        fine = self._manage()
        if fine and dig(self._obj, "spec", "updateStrategy", "type") != "OnDelete":
            fine = self._rolling_update()
        used = {name_of(current)} | {
            name_of(revision)
            for revision in known
            if any(revision_hash_of(pod) == revision_hash_of(revision) for pod in self._pods())
        }
        limit = integer(dig(self._obj, "spec", "revisionHistoryLimit"), _DEFAULT_HISTORY_LIMIT)
        history.truncate_history(history.all(), used, limit)
        self._update_daemon_set_status()
        return fine

    def _hash(self) -> str:
        return template_hash(fields(dig(self._obj, "spec", "template")), self._collisions)

    def _pods(self) -> list[Object]:
        selector = fields(self._obj.get("spec")).get("selector")
        return claim_objects(self._client, PODS, self._obj, selector)

    def _get_node_to_daemon_pods(self) -> dict[str, list[Object]]:
        """The pods on each node, the oldest first; those that have ended and are going do not count."""
        pods_by_node: dict[str, list[Object]] = {}
        for pod in sorted(self._pods(), key=_schedule_order):
            if not (is_finished(pod) and is_terminating(pod)):
                pods_by_node.setdefault(_target_node(pod), []).append(pod)
        return pods_by_node

    # -- pods where they belong -------------------------------------------------------------------

    def _manage(self) -> bool:
        there = self._get_node_to_daemon_pods()
        missing: list[str] = []
        surplus: list[Object] = []
        for node, (runs, stays) in self._node_decisions.items():
            pods = there.get(node, [])
            if runs and not pods:
                missing.append(node)
            elif stays:
                living = self._pods_to_keep(node, pods, surplus)
                if self._max_surge():
                    if not living and runs:
                        missing.append(node)
                    surplus.extend(self._surplus_with_surge(living))
                else:
                    surplus.extend(living[1:])
            else:
                surplus.extend(pod for pod in pods if not is_terminating(pod))
        for node, pods in there.items():
            if node not in self._node_decisions:
                surplus.extend(pod for pod in pods if not text(dig(pod, "spec", "nodeName")))
        return self._sync_nodes(surplus, missing)

    def _pods_to_keep(self, node: str, pods: list[Object], surplus: list[Object]) -> list[Object]:
        living: list[Object] = []
        for pod in pods:
            if is_terminating(pod):
                continue
            where = f"daemon pod {namespace_of(pod)}/{name_of(pod)} on node {node}"
            if phase_of(pod) == "Failed":
                key = (namespace_of(pod) + "/" + name_of(self._obj), node)
                self.requeue_seconds = self._failed_pods_backoff.next(key)
                self._event("Warning", "FailedDaemonPod", f"Found failed {where}, will try to kill it")
                surplus.append(pod)
            elif phase_of(pod) == "Succeeded":
                message = f"Found succeeded {where}, will try to delete it"
                self._event("Normal", "SucceededDaemonPod", message)
                surplus.append(pod)
            else:
                living.append(pod)
        return living

    def _surplus_with_surge(self, living: list[Object]) -> list[Object]:
        """With maxSurge, an old and a new pod may coexist until the new one is available."""
        new = [pod for pod in living if self._is_updated(pod)]
        old = [pod for pod in living if not self._is_updated(pod)]
        gone = [*new[1:], *old[1:]]
        if new and old and (not is_ready(old[0]) or self._is_available(new[0])):
            gone.append(old[0])
        return gone

    def _sync_nodes(self, surplus: list[Object], missing: list[str]) -> bool:
        made = [
            create_pod(
                self._client, self._obj, _new_daemon_pod(self._obj, node, self._current_hash), _COMPONENT
            )
            for node in missing
        ]
        gone = [delete_pod(self._client, self._obj, pod, _COMPONENT) for pod in surplus]
        return not any(isinstance(outcome, Failure) for outcome in (*made, *gone))

    # -- a new template ---------------------------------------------------------------------------

    def _max_surge(self) -> int:
        return scaled_value_from_int_or_percent(
            self._rolling_update_field("maxSurge"), self._desired_number_scheduled(), up=True
        )

    def _rolling_update_field(self, key: str) -> str | int:
        value = dig(self._obj, "spec", "updateStrategy", "rollingUpdate", key)
        return value if isinstance(value, (str, int)) else 0

    def _desired_number_scheduled(self) -> int:
        return sum(1 for runs, _ in self._node_decisions.values() if runs)

    def _rolling_update(self) -> bool:
        surge, gap = (
            self._max_surge(),
            scaled_value_from_int_or_percent(
                self._rolling_update_field("maxUnavailable"), self._desired_number_scheduled(), up=True
            ),
        )
        if not surge and not gap:
            gap = 1
        there = self._get_node_to_daemon_pods()
        return (
            self._roll_with_max_surge(there, surge) if surge else self._roll_with_max_unavailable(there, gap)
        )

    def _roll_with_max_unavailable(self, there: dict[str, list[Object]], gap: int) -> bool:
        unavailable = 0
        sick: list[Object] = []
        fine: list[Object] = []
        for node in sorted(there):
            pods = [pod for pod in there[node] if not is_terminating(pod)]
            if len(pods) != 1:
                unavailable += 1
            elif self._is_updated(pods[0]):
                unavailable += 0 if self._is_available(pods[0]) else 1
            elif self._is_available(pods[0]):
                fine.append(pods[0])
            else:
                sick.append(pods[0])
                unavailable += 1
        return self._sync_nodes([*sick, *fine[: max(gap - unavailable, 0)]], [])

    def _roll_with_max_surge(self, there: dict[str, list[Object]], surge: int) -> bool:
        used = 0
        gone: list[Object] = []
        allowed: list[str] = []
        candidates: list[str] = []
        for node in sorted(there):
            pods = [pod for pod in there[node] if not is_terminating(pod)]
            new = next((pod for pod in pods if self._is_updated(pod)), None)
            old = next((pod for pod in pods if not self._is_updated(pod)), None)
            if old is None:
                continue
            if new is None:
                (candidates if self._is_available(old) else allowed).append(node)
            elif self._is_available(new):
                gone.append(old)
            else:
                used += 1
        return self._sync_nodes(gone, [*allowed, *candidates[: max(surge - used, 0)]])

    def _is_updated(self, pod: Object) -> bool:
        generation = _template_generation(self._obj)
        pod_generation = labels_of(pod).get(_TEMPLATE_GENERATION_LABEL)
        return revision_hash_of(pod) == self._current_hash or (
            bool(generation) and pod_generation == generation
        )

    def _is_available(self, pod: Object) -> bool:
        return is_available(pod, self._min_ready_seconds, self._client.now)

    # -- what is told -----------------------------------------------------------------------------

    def _update_daemon_set_status(self) -> None:
        there = self._get_node_to_daemon_pods()
        runs = [node for node, (runs, _) in self._node_decisions.items() if runs]
        firsts = [there[node][0] for node in runs if there.get(node)]
        available = sum(1 for pod in firsts if self._is_available(pod))
        status: Object = {
            "currentNumberScheduled": len(firsts),
            "numberMisscheduled": sum(
                1 for node in self._node_decisions if node in there and node not in runs
            ),
            "desiredNumberScheduled": len(runs),
            "numberReady": sum(1 for pod in firsts if is_ready(pod)),
            "observedGeneration": integer(dig(self._obj, "metadata", "generation")),
        }
        updated = sum(1 for pod in firsts if self._is_updated(pod))
        counts = {
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": len(runs) - available,
        }
        status.update({key: count for key, count in counts.items() if count})
        if self._collisions is not None:
            status["collisionCount"] = self._collisions
        self._client.update_status(self._obj, status)

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)


def _schedule_order(pod: Object) -> tuple[bool, str, str]:
    """Those on a node first, then the oldest."""
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
    rule: Object = {"key": _NODE_NAME_FIELD, "operator": "In", "values": [node]}
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


def _with_daemon_tolerations(spec: Object) -> Object:
    wanted = (
        [*_DAEMON_TOLERATIONS, _HOST_NETWORK_TOLERATION]
        if spec.get("hostNetwork") is True
        else _DAEMON_TOLERATIONS
    )
    tolerations = items(spec.get("tolerations"))
    new: list[Json] = [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in wanted
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
    """The node it is on, or the one it is meant for."""
    there = text(dig(pod, "spec", "nodeName"))
    if there:
        return there
    rule = dig(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items(fields(rule).get("nodeSelectorTerms")):
        for raw in items(fields(term).get("matchFields")):
            requirement = fields(raw)
            if requirement.get("key") == _NODE_NAME_FIELD and requirement.get("operator") == "In":
                values = items(requirement.get("values"))
                return text(values[0]) if len(values) == 1 else ""
    return ""


def node_should_run_daemon_pod(obj: Object, node: Object) -> tuple[bool, bool]:
    """Should a pod run on the node, and may one that does go on? Mirrors `NodeShouldRunDaemonPod`."""
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

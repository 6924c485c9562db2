"""ReplicaSet controller: creates and deletes pods until their number is spec.replicas.

Mirrors `pkg/controller/replicaset`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items
from whysync.kubernetes.apiserver.storage import Change, ObjectKey
from whysync.kubernetes.controllers.client import (
    PODS,
    REPLICA_SETS,
    Client,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.conditions import condition, conditions_of, without
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
from whysync.kubernetes.controllers.deployment import replicas_of
from whysync.kubernetes.controllers.pod_control import (
    Failure,
    active_pods_with_ranks,
    claim_objects,
    create_pods,
    delete_pod,
    is_active,
    is_available,
    is_finished,
    is_ready,
    next_available,
    pod_from_template,
    potential_owners,
)

_COMPONENT: Final = "replicaset-controller"
_FAILURE: Final = "ReplicaFailure"
_BURST_REPLICAS: Final = 500


class ReplicaSetController(QueueController):
    name = "replicaset"
    main = REPLICA_SETS
    owner_kind = "ReplicaSet"
    dependents = frozenset({PODS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()
        self._relevant_fields: dict[ObjectKey, tuple[Json, ...]] = {}

    def keys_of(self, change: Change) -> Iterable[Key]:
        """Skips changes of a pod that do not affect its ReplicaSet."""
        if change.type == "DELETED":
            self._relevant_fields.pop(change.object_key, None)
            return super().keys_of(change)
        interesting = _fields_of_interest(change)
        if self._relevant_fields.get(change.object_key) == interesting:
            return ()
        self._relevant_fields[change.object_key] = interesting
        return super().keys_of(change)

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:
        return potential_owners(self.client, REPLICA_SETS, change)

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        spec = fields(obj.get("spec"))
        pods = claim_objects(self.client, PODS, obj, spec.get("selector"))
        active = [pod for pod in pods if is_active(pod)]
        failure = None if is_terminating(obj) else self._manage_replicas(obj, active)
        terminating = sum(1 for pod in pods if is_terminating(pod))
        status = self._calculate_status(obj, active, terminating, failure)
        obj = self.client.update_status(obj, status)
        key = (namespace_of(obj), name_of(obj))
        if failure is not None:
            self.enqueue_after(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        min_ready_seconds = integer(spec.get("minReadySeconds"))
        if min_ready_seconds and status.get("readyReplicas") != status.get("availableReplicas"):
            when = next_available(active, min_ready_seconds, self.client.now)
            if when is not None:
                self.enqueue_at(obj, when)

    def _manage_replicas(self, obj: Object, active: list[Object]) -> Failure | None:
        replicas = replicas_of(obj)
        if len(active) < replicas:
            pod = pod_from_template(fields(dig(obj, "spec", "template")), obj)
            count = min(replicas - len(active), _BURST_REPLICAS)
            return create_pods(self.client, obj, pod, count, _COMPONENT)
        surplus = min(len(active) - replicas, _BURST_REPLICAS)
        if surplus <= 0:
            return None
        pods_to_delete = active_pods_with_ranks(active, self._pods_of_owner(obj))[:surplus]
        failures = [delete_pod(self.client, obj, pod, _COMPONENT) for pod in pods_to_delete]
        return next((failure for failure in failures if failure is not None), None)

    def _pods_of_owner(self, obj: Object) -> list[Object]:
        """The pods of all ReplicaSets of the same owner."""
        for raw in items(dig(obj, "metadata", "ownerReferences")):
            owner = fields(raw)
            if owner.get("controller") is True:
                owner_stub: Object = {"metadata": {"uid": owner.get("uid")}}
                siblings = self.client.owned(REPLICA_SETS, owner_stub)
                return [pod for sibling in siblings for pod in self.client.owned(PODS, sibling)]
        return self.client.owned(PODS, obj)

    def _calculate_status(
        self, obj: Object, active: list[Object], terminating: int, failure: Failure | None
    ) -> Object:
        spec, old_status = fields(obj.get("spec")), fields(obj.get("status"))
        labels = fields(dig(spec, "template", "metadata", "labels"))
        min_ready_seconds, now = integer(spec.get("minReadySeconds")), self.client.now
        fully_labeled = sum(1 for pod in active if labels.items() <= labels_of(pod).items())
        ready = sum(1 for pod in active if is_ready(pod))
        available = sum(1 for pod in active if is_available(pod, min_ready_seconds, now))
        conditions = self._conditions(items(old_status.get("conditions")), obj, len(active), failure)
        status: Object = {"replicas": len(active)}
        for key, count in (
            ("fullyLabeledReplicas", fully_labeled),
            ("readyReplicas", ready),
            ("availableReplicas", available),
        ):
            if count:
                status[key] = count
        status["terminatingReplicas"] = terminating
        status["observedGeneration"] = integer(dig(obj, "metadata", "generation"))
        if conditions:
            status["conditions"] = conditions
        return status

    def _conditions(
        self, conditions: list[Json], obj: Object, active: int, failure: Failure | None
    ) -> list[Json]:
        if failure is None:
            return without(conditions, _FAILURE)
        if condition(conditions, _FAILURE):
            return conditions
        replicas = replicas_of(obj)
        new: Object = {
            "type": _FAILURE,
            "status": "True",
            "lastTransitionTime": self.client.stamp(),
            "reason": "FailedCreate" if active < replicas else "FailedDelete",
            "message": failure.message,
        }
        return [*conditions, new]


def _fields_of_interest(change: Change) -> tuple[Json, ...]:
    """The fields of a ReplicaSet or pod that affect the sync of the ReplicaSet."""
    meta = fields(change.obj.get("metadata"))
    common = (meta.get("deletionTimestamp"), meta.get("ownerReferences"), meta.get("labels"))
    if change.object_key[0] == REPLICA_SETS:
        return (*common, meta.get("generation"), meta.get("uid"))
    ready = condition(conditions_of(change.obj), "Ready")
    return (*common, is_finished(change.obj), ready.get("status"), ready.get("lastTransitionTime"))

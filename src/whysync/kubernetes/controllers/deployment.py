"""Deployment controller: creates a ReplicaSet per pod template and rolls pods out to the new one.

Mirrors `pkg/controller/deployment`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.backoff import Backoff
from whysync.kubernetes.controllers.client import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Client,
    is_terminating,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.conditions import (
    add_seconds,
    condition,
    parse_time,
    set_condition,
    without,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.deployment_replicasets import ReplicaSetControl, ReplicaSets
from whysync.kubernetes.controllers.deployment_util import (
    DESIRED_REPLICAS,
    annotated_number,
    deadline_of,
    is_rolling_update,
    replicas_of,
    resolve_fenceposts,
    status_number,
)
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.pod_control import is_finished, potential_owners

_PROGRESSING, _AVAILABLE, _FAILURE = "Progressing", "Available", "ReplicaFailure"
_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


class DeploymentController(QueueController):
    name = "deployment"
    main = DEPLOYMENTS
    owner_kind = "Deployment"
    dependents = frozenset({REPLICA_SETS, PODS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()

    def keys_of(self, change: Change) -> Iterable[Key]:
        if change.object_key[0] != PODS:
            return super().keys_of(change)
        if change.type != "DELETED":
            return ()
        owner = controller_of(change.obj)  # the last old pod may be what a Recreate waits for
        if owner.get("kind") != "ReplicaSet":
            return ()
        replica_set = self.client.get(REPLICA_SETS, change.object_key[1], text(owner.get("name")))
        name = text(controller_of(replica_set or {}).get("name"))
        return [(change.object_key[1], name)] if name else ()

    def keys_of_orphan(self, change: Change) -> Iterable[Key]:
        return potential_owners(self.client, DEPLOYMENTS, change)

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    # -- one Deployment ---------------------------------------------------------------------------

    def sync(self, obj: Object) -> None:
        sets = ReplicaSetControl(self.client, obj).get_replica_sets()
        if is_terminating(obj):
            self._sync_deployment_status(obj, sets)
            return
        obj = self._check_paused_conditions(obj)
        control = ReplicaSetControl(self.client, obj)
        if dig(obj, "spec", "paused") is True:
            control.scale(sets)
            control.cleanup_deployment(sets)
            self._sync_deployment_status(obj, sets)
        elif self._is_scaling_event(obj, sets):
            obj, status_written = control.sync_revision(sets)
            control.scale(sets)
            if not status_written:
                self._sync_deployment_status(obj, sets)
        elif is_rolling_update(obj):
            self._rollout_rolling(obj, sets)
        else:
            self._rollout_recreate(obj, sets)

    def _is_scaling_event(self, obj: Object, sets: ReplicaSets) -> bool:
        """Has the number of replicas changed since it was last written to the ReplicaSets?"""
        return any(
            annotated_number(replica_set, DESIRED_REPLICAS) not in (None, replicas_of(obj))
            for replica_set in sets.all
            if replicas_of(replica_set)
        )

    def _rollout_rolling(self, obj: Object, sets: ReplicaSets) -> None:
        control = ReplicaSetControl(self.client, obj)
        obj, status_written = control.get_new_replica_set(sets)
        if sets.new is None:
            self._requeue_after_failure(obj)
            return
        self._backoff.forget((namespace_of(obj), name_of(obj)))
        if status_written:
            # The real controller continues with its old copy here, and its status write gets a conflict.
            control.reconcile_rolling_update(sets)
            self.queue.add((namespace_of(obj), name_of(obj)))
            return
        if not control.reconcile_rolling_update(sets) and _deployment_complete(
            obj, fields(obj.get("status"))
        ):
            control.cleanup_deployment(sets)
        self._sync_rollout_status(obj, sets)

    def _rollout_recreate(self, obj: Object, sets: ReplicaSets) -> None:
        control = ReplicaSetControl(self.client, obj)
        if control.scale_down_old_replica_sets_for_recreate(sets) or self._old_pods_running(sets):
            self._sync_rollout_status(obj, sets)
            return
        obj, status_written = control.get_new_replica_set(sets)
        if sets.new is None:
            self._requeue_after_failure(obj)
            return
        self._backoff.forget((namespace_of(obj), name_of(obj)))
        control.scale_replica_set(sets, sets.new, replicas_of(obj))
        if status_written:
            self.queue.add((namespace_of(obj), name_of(obj)))
            return
        if _deployment_complete(obj, fields(obj.get("status"))):
            control.cleanup_deployment(sets)
        self._sync_rollout_status(obj, sets)

    def _old_pods_running(self, sets: ReplicaSets) -> bool:
        return any(status_number(replica_set, "replicas") for replica_set in sets.old) or any(
            not is_finished(pod) for replica_set in sets.old for pod in self.client.owned(PODS, replica_set)
        )

    def _requeue_after_failure(self, obj: Object) -> None:
        self.enqueue_after(obj, self._backoff.next((namespace_of(obj), name_of(obj))))

    # -- status -----------------------------------------------------------------------------------

    def _check_paused_conditions(self, obj: Object) -> Object:
        if deadline_of(obj) is None:
            return obj
        status = fields(obj.get("status"))
        existing = items(status.get("conditions"))
        reason = condition(existing, _PROGRESSING).get("reason")
        if reason == "ProgressDeadlineExceeded":
            return obj
        paused = dig(obj, "spec", "paused") is True
        if paused == (reason == "DeploymentPaused"):
            return obj
        reason_and_message = ("DeploymentPaused", "Deployment is paused")
        if not paused:
            reason_and_message = ("DeploymentResumed", "Deployment is resumed")
        conditions = set_condition(existing, self._condition(_PROGRESSING, "Unknown", *reason_and_message))
        return self.client.update_status(obj, {**status, "conditions": conditions})

    def _condition(self, kind: str, status: str, reason: str, message: str) -> Object:
        now = self.client.stamp()
        return {
            "type": kind,
            "status": status,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }

    def _sync_deployment_status(self, obj: Object, sets: ReplicaSets) -> None:
        self.client.update_status(obj, self._calculate_status(obj, sets))

    def _sync_rollout_status(self, obj: Object, sets: ReplicaSets) -> None:
        status = self._calculate_status(obj, sets)
        conditions = items(status.get("conditions"))
        deadline = deadline_of(obj)
        if deadline is None:
            conditions = without(conditions, _PROGRESSING)
        else:
            conditions = self._progressing_conditions(obj, sets, status, conditions)
        failures = [
            failure
            for replica_set in ([sets.new] if sets.new else [])
            + (sets.old if not _replica_failure(sets.new) else [])
            if (failure := _replica_failure(replica_set))
        ]
        if failures:
            conditions = set_condition(
                conditions, {**failures[0], "lastUpdateTime": failures[0]["lastTransitionTime"]}
            )
        else:
            conditions = without(conditions, _FAILURE)
        status["conditions"] = conditions
        obj = self.client.update_status(obj, status)
        if deadline is not None:
            self._requeue_stuck_deployment(obj, deadline)

    def _progressing_conditions(
        self, obj: Object, sets: ReplicaSets, status: Object, conditions: list[Json]
    ) -> list[Json]:
        old_status = fields(obj.get("status"))
        current = condition(items(old_status.get("conditions")), _PROGRESSING)
        if (
            integer(status.get("replicas")) == integer(status.get("updatedReplicas"))
            and current.get("reason") == "NewReplicaSetAvailable"
        ):
            return conditions
        subject = f'Deployment "{name_of(obj)}"' if sets.new is None else f'ReplicaSet "{name_of(sets.new)}"'
        if _deployment_complete(obj, status):
            message = f"{subject} has successfully progressed."
            return set_condition(
                conditions, self._condition(_PROGRESSING, "True", "NewReplicaSetAvailable", message)
            )
        if _deployment_progressing(old_status, status):
            new = self._condition(_PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.")
            if current.get("status") == "True":
                new["lastTransitionTime"] = current.get("lastTransitionTime")
            return [*without(conditions, _PROGRESSING), new]
        if self._deployment_timed_out(obj, condition(conditions, _PROGRESSING)):
            message = f"{subject} has timed out progressing."
            return set_condition(
                conditions, self._condition(_PROGRESSING, "False", "ProgressDeadlineExceeded", message)
            )
        return conditions

    def _deployment_timed_out(self, obj: Object, progressing: Object) -> bool:
        if not progressing or progressing.get("reason") == "NewReplicaSetAvailable":
            return False
        if progressing.get("reason") == "ProgressDeadlineExceeded":
            return True
        since = parse_time(text(progressing.get("lastUpdateTime")))
        deadline = deadline_of(obj)
        return since is not None and deadline is not None and add_seconds(since, deadline) < self.client.now

    def _requeue_stuck_deployment(self, obj: Object, deadline: int) -> None:
        status = fields(obj.get("status"))
        progressing = condition(items(status.get("conditions")), _PROGRESSING)
        since = parse_time(text(progressing.get("lastUpdateTime")))
        # A rollout that was complete once does not time out any more, even if pods become unavailable.
        if since is None or progressing.get("reason") in (
            "ProgressDeadlineExceeded",
            "NewReplicaSetAvailable",
        ):
            return
        if not _deployment_complete(obj, status):
            # One second more than the deadline, because timestamps are whole seconds.
            self.enqueue_at(obj, add_seconds(max(add_seconds(since, deadline), self.client.now), 1))

    def _calculate_status(self, obj: Object, sets: ReplicaSets) -> Object:
        old_status = fields(obj.get("status"))
        available = sum(status_number(replica_set, "availableReplicas") for replica_set in sets.all)
        total_replicas = sum(replicas_of(replica_set) for replica_set in sets.all)
        counts = (
            sum(status_number(replica_set, "replicas") for replica_set in sets.all),
            status_number(sets.new, "replicas") if sets.new else 0,
            sum(status_number(replica_set, "readyReplicas") for replica_set in sets.all),
            available,
            max(total_replicas - available, 0),
        )
        status: Object = {"observedGeneration": integer(dig(obj, "metadata", "generation"))}
        status.update({key: count for key, count in zip(_COUNTS, counts, strict=True) if count})
        terminating = _terminating_replicas(sets)
        if terminating is not None:
            status["terminatingReplicas"] = terminating
        if available >= replicas_of(obj) - resolve_fenceposts(obj)[1]:
            availability = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        else:
            availability = (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        conditions = set_condition(
            items(old_status.get("conditions")), self._condition(_AVAILABLE, *availability)
        )
        status["conditions"] = conditions
        if "collisionCount" in old_status:
            status["collisionCount"] = old_status["collisionCount"]
        return status


def _terminating_replicas(sets: ReplicaSets) -> int | None:
    total = 0
    for replica_set in sets.all:
        status = fields(replica_set.get("status"))
        if "terminatingReplicas" not in status:
            if integer(status.get("observedGeneration")):
                return None
            continue
        total += integer(status["terminatingReplicas"])
    return total


def _replica_failure(replica_set: Object | None) -> Object:
    return condition(items(dig(replica_set, "status", "conditions")), _FAILURE) if replica_set else {}


def _deployment_complete(obj: Object, status: Object) -> bool:
    replicas = replicas_of(obj)
    return all(
        integer(status.get(key)) == replicas for key in ("updatedReplicas", "replicas", "availableReplicas")
    ) and integer(status.get("observedGeneration")) >= integer(dig(obj, "metadata", "generation"))


def _deployment_progressing(old_status: Object, new_status: Object) -> bool:
    def count(status: Object, key: str) -> int:
        return integer(status.get(key))

    def old(status: Object) -> int:
        return count(status, "replicas") - count(status, "updatedReplicas")

    return (
        count(new_status, "updatedReplicas") > count(old_status, "updatedReplicas")
        or old(new_status) < old(old_status)
        or count(new_status, "readyReplicas") > count(old_status, "readyReplicas")
        or count(new_status, "availableReplicas") > count(old_status, "availableReplicas")
    )
